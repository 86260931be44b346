"""SeqGAN (Yu et al. 2017): a discriminator's belief that a sequence is real, as a reward for every token."""

from typing import ClassVar

import torch
from torch import Tensor
from torch.nn import functional

from offscript.training.adversarial import Adversarial, Judge


class SeqGAN(Adversarial):
    """The policy gradient of the discriminator's belief, through Monte-Carlo roll-outs of every prefix."""

    name: ClassVar[str] = "seqgan"

    def judge_loss(self, real: Tensor, drawn: Tensor) -> Tensor:
        """Cross-entropy of telling real sequences from drawn ones."""
        logits = self.judge(torch.cat([real, drawn]))
        truth = torch.arange(len(logits), device=logits.device) < len(real)
        return functional.binary_cross_entropy_with_logits(logits, truth.to(logits))

    def judgement(self, real: Tensor) -> Judge:
        """The probability that a sequence is real; none is needed to compare with."""
        return lambda sequences: self.judge(sequences).sigmoid()
