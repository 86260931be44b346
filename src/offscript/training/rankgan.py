"""RankGAN (Lin et al. 2017): a sequence is worth its rank among human ones, by likeness to human references."""

from typing import ClassVar

import torch
from pydantic import Field
from torch import Tensor
from torch.nn import functional

from offscript.training.adversarial import Adversarial, AdversarialSettings, Worth
from offscript.training.algorithm import AlgorithmSettings


class RankGANSettings(AdversarialSettings):
    """How sharply likeness decides a rank, and among how many."""

    sharpness: float = Field(10.0, gt=0, description="γ, the inverse temperature of the ranks")
    references: int | None = Field(
        None, ge=1, description="|U|, how many of a batch of data are references; None: half, the rest is compared with"
    )


class RankGAN(Adversarial):
    """The policy gradient of the expected logarithm of a sequence's rank, through roll-outs as in SeqGAN.

    A part of the data's batch are the references U, the rest is what a drawn sequence is compared with.
    """

    name: ClassVar[str] = "rankgan"
    Settings: ClassVar[type[AlgorithmSettings]] = RankGANSettings
    settings: RankGANSettings

    def discriminator_loss(self, real: Tensor, drawn: Tensor) -> Tensor:
        """-log R of human sequences among drawn ones, and -log(1 - R) of drawn sequences among human ones (eq. 1)."""
        references, humans = self._parted(self._likeness(real))
        machines = self._likeness(drawn)
        found = log_ranks(humans, machines, references, self.settings.sharpness)
        wrong = log_ranks(machines, humans, references, self.settings.sharpness)
        return -found.mean() - torch.log1p(-wrong.exp().clamp(max=1 - 1e-6)).mean()

    def worth(self, real: Tensor) -> Worth:
        """log R of a drawn sequence among human ones."""
        references, humans = self._parted(self._likeness(real))

        def rank(features: Tensor) -> Tensor:
            return log_ranks(self._directions(features), humans, references, self.settings.sharpness)

        return Worth(self.discriminator, rank)

    def _likeness(self, sequences: Tensor) -> Tensor:
        return self._directions(self.discriminator.features(sequences))

    def _directions(self, features: Tensor) -> Tensor:
        """Features of length one, whose products are cosines."""
        return functional.normalize(self.discriminator.dropout(features), dim=-1)

    def _parted(self, features: Tensor) -> tuple[Tensor, Tensor]:
        """References, and what is compared; where there is one sequence alone it is both."""
        wanted = self.settings.references or len(features) // 2
        middle = max(1, min(wanted, len(features) - 1))
        return features[:middle], features[middle:] if len(features) > 1 else features


def log_ranks(ranked: Tensor, compared: Tensor, references: Tensor, sharpness: float) -> Tensor:
    """log R [n] of each of n ranked sequences among the compared ones, all given by their features [·, width].

    R is the mean over references u of exp(γ cos(s, u)) / Σ exp(γ cos(s', u)), where s' runs over s and the compared
    (eqs. 3 and 4).
    """
    own = sharpness * ranked @ references.t()  # [n, U]
    others = (sharpness * compared @ references.t()).logsumexp(dim=0)  # [U]
    shares = own - torch.logaddexp(own, others)
    return shares.logsumexp(dim=1) - torch.log(torch.tensor(float(len(references)), device=own.device))
