"""What a run writes down as it goes: one JSON object a line, and TensorBoard events where that is installed."""

import importlib.util
import json
from pathlib import Path
from typing import Any

from offscript._files import write_text


class Log:
    """`log.jsonl` in the run's folder; a resumed run first takes back what came after its checkpoint."""

    def __init__(self, folder: Path, resumed_at: int) -> None:
        self._path = folder / "log.jsonl"
        self._keep_until(resumed_at)
        self._stream = self._path.open("a", encoding="utf-8")
        self._events = _event_writer(folder, resumed_at)

    def write(self, step: int, **values: float) -> None:
        """One line with the step and its values."""
        self._stream.write(json.dumps({"step": step, **values}) + "\n")
        self._stream.flush()
        if self._events is not None:
            for name, value in values.items():
                self._events.add_scalar(name, value, step)

    def close(self) -> None:
        """Finish both files."""
        self._stream.close()
        if self._events is not None:
            self._events.close()

    def _keep_until(self, step: int) -> None:
        if not self._path.is_file():
            return
        lines = self._path.read_text(encoding="utf-8").splitlines()
        kept = [line for line in lines if line.endswith("}") and json.loads(line)["step"] <= step]
        write_text(self._path, "".join(f"{line}\n" for line in kept))


def _event_writer(folder: Path, resumed_at: int) -> Any:
    if importlib.util.find_spec("tensorboard") is None:
        return None
    from torch.utils.tensorboard import SummaryWriter

    return SummaryWriter(str(folder / "tensorboard"), purge_step=resumed_at + 1)
