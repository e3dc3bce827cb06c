"""Teaches the sentence model about tools: makes `adapter.safetensors` of toolcrib-semantic.

    python bench/semantic_training.py packages/semantic/src/toolcrib_semantic/adapter.safetensors

Needs torch and tokenizers, so it runs in a throw-away environment; a few minutes on two cores. It learns from
`semantic_requests.tsv` alone (tools and requests written for this purpose), never from a set that search is measured
on. Only low-rank changes to the two upper layers are learnt, by telling the tool that answers a request from the other
tools of its batch and from one more of its own server. They are shipped at 0.7 of their strength: of 0.6, 0.7, 1 and
1.4, tried on `mcp-dev` with an earlier recipe, the two smallest did best.
"""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn import functional

from toolcrib_core.definition import ToolDefinition
from toolcrib_core.search.dense import document_text
from toolcrib_semantic.safetensors import read_tensors, write_half_precision
from toolcrib_semantic.weights import TOKENIZER_SHA256, WEIGHTS_SHA256, find_model_files, read_checked

REQUESTS = Path(__file__).with_name("semantic_requests.tsv")
LAYERS, FIRST_LEARNT, HEADS, WIDTH = 6, 4, 12, 384
RANK, BATCH, EPOCHS, WARM_UP = 16, 28, 4, 15
LEARNING_RATE, TEMPERATURE, DROPOUT, STRENGTH = 5e-4, 0.05, 0.05, 0.7
MAX_TOKENS = 32
MATRICES = (
    "attention.self.query",
    "attention.self.key",
    "attention.self.value",
    "attention.output.dense",
    "intermediate.dense",
    "output.dense",
)


@dataclass(frozen=True, kw_only=True)
class Lesson:
    """A request, the text of the tool that answers it, and the texts of its server's other tools."""

    request: str
    answer: str
    siblings: tuple[str, ...]


@dataclass(kw_only=True)
class Model:
    """The sentence model with learnable changes to its upper layers."""

    tensors: dict[str, Tensor]
    tokenizer: Tokenizer
    learnt: dict[str, tuple[torch.nn.Parameter, torch.nn.Parameter]]
    lower: dict[str, Tensor] = field(default_factory=dict)
    """What the layers that do not change make of each text, computed once."""

    def vectors(self, texts: Sequence[str], *, dropout: float) -> Tensor:
        """One row of length 1 per text."""
        rows = [self._lower_layers(text) for text in texts]
        hidden = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)
        mask = torch.nn.utils.rnn.pad_sequence(
            [torch.ones(len(row), dtype=torch.bool) for row in rows], batch_first=True
        )
        for layer in range(FIRST_LEARNT, LAYERS):
            hidden = self._layer(hidden, mask, layer, dropout)
        kept = mask[..., None].float()
        return functional.normalize((hidden * kept).sum(1) / kept.sum(1), dim=1)

    def parameters(self) -> list[torch.nn.Parameter]:
        """What is learnt."""
        return [each for pair in self.learnt.values() for each in pair]

    @torch.no_grad()
    def _lower_layers(self, text: str) -> Tensor:
        if text not in self.lower:
            ids = torch.tensor(self.tokenizer.encode(text).ids)
            embedded = self.tensors["embeddings.word_embeddings.weight"][ids]
            embedded = embedded + self.tensors["embeddings.position_embeddings.weight"][: len(ids)]
            embedded = embedded + self.tensors["embeddings.token_type_embeddings.weight"][0]
            hidden = self._normalized(embedded[None], "embeddings.LayerNorm")
            for layer in range(FIRST_LEARNT):
                hidden = self._layer(hidden, torch.ones(1, len(ids), dtype=torch.bool), layer, 0.0)
            self.lower[text] = hidden[0]
        return self.lower[text]

    def _layer(self, hidden: Tensor, mask: Tensor, layer: int, dropout: float) -> Tensor:
        prefix = f"encoder.layer.{layer}"
        rows, length, _ = hidden.shape
        heads = [
            self._linear(hidden, f"{prefix}.attention.self.{role}").view(rows, length, HEADS, -1).transpose(1, 2)
            for role in ("query", "key", "value")
        ]
        attended = functional.scaled_dot_product_attention(*heads, attn_mask=mask[:, None, None, :])
        attended = attended.transpose(1, 2).reshape(rows, length, WIDTH)
        mixed = functional.dropout(self._linear(attended, f"{prefix}.attention.output.dense"), dropout)
        hidden = self._normalized(hidden + mixed, f"{prefix}.attention.output.LayerNorm")
        wide = functional.gelu(self._linear(hidden, f"{prefix}.intermediate.dense"))
        narrow = functional.dropout(self._linear(wide, f"{prefix}.output.dense"), dropout)
        return self._normalized(hidden + narrow, f"{prefix}.output.LayerNorm")

    def _linear(self, source: Tensor, name: str) -> Tensor:
        result = functional.linear(source, self.tensors[f"{name}.weight"], self.tensors[f"{name}.bias"])
        if name in self.learnt:
            down, up = self.learnt[name]
            result = result + (source @ down.T) @ up.T
        return result

    def _normalized(self, source: Tensor, name: str) -> Tensor:
        return functional.layer_norm(
            source, (WIDTH,), self.tensors[f"{name}.weight"], self.tensors[f"{name}.bias"], eps=1e-12
        )


def main() -> int:
    """Learn, and write the adapter to the path given."""
    torch.manual_seed(0)
    torch.set_num_threads(2)
    model = load_model()
    teach(model, list(read_lessons(REQUESTS)))
    tensors = {f"{name}.down": down.detach().numpy() for name, (down, _) in model.learnt.items()}
    tensors |= {f"{name}.up": STRENGTH * up.detach().numpy() for name, (_, up) in model.learnt.items()}
    Path(sys.argv[1]).write_bytes(write_half_precision(tensors))
    return 0


def load_model() -> Model:
    """The installed model, with changes that are still nothing."""
    files = find_model_files()
    weights = read_tensors(read_checked(files.weights, WEIGHTS_SHA256))
    tensors = {name: torch.from_numpy(values.copy()) for name, values in weights.items()}
    tokenizer = Tokenizer.from_str(read_checked(files.tokenizer, TOKENIZER_SHA256).decode())
    tokenizer.no_padding()
    tokenizer.enable_truncation(MAX_TOKENS)
    learnt = {}
    for layer in range(FIRST_LEARNT, LAYERS):
        for name in (f"encoder.layer.{layer}.{matrix}" for matrix in MATRICES):
            outputs, inputs = tensors[f"{name}.weight"].shape
            down = torch.nn.Parameter(torch.randn(RANK, inputs) / math.sqrt(inputs))
            learnt[name] = (down, torch.nn.Parameter(torch.zeros(outputs, RANK)))
    return Model(tensors=tensors, tokenizer=tokenizer, learnt=learnt)


def read_lessons(path: Path) -> Iterator[Lesson]:
    """Lines of `server, tool, description, request, …`, one lesson per request."""
    rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]
    texts = [
        document_text(ToolDefinition(namespace=server, name=name, description=description))
        for server, name, description, *_ in rows
    ]
    for (server, _, _, *requests), answer in zip(rows, texts, strict=True):
        siblings = tuple(text for row, text in zip(rows, texts, strict=True) if row[0] == server and text != answer)
        for request in requests:
            yield Lesson(request=request, answer=answer, siblings=siblings)


def teach(model: Model, lessons: list[Lesson]) -> None:
    """Change the model so that a request lies nearer to its answer than to any other tool of the batch."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE, weight_decay=0.01)
    chance = random.Random(0)
    steps = EPOCHS * (len(lessons) // BATCH)
    for step in range(steps):
        at = step % (len(lessons) // BATCH)
        if at == 0:
            chance.shuffle(lessons)
        for group in optimizer.param_groups:
            group["lr"] = LEARNING_RATE * min(1.0, (step + 1) / WARM_UP) * max(0.02, 1 - step / steps)
        loss = _loss(model, lessons[at * BATCH : (at + 1) * BATCH], chance)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 10 == 0:
            print(f"step {step} of {steps}: loss {loss.item():.3f}", flush=True)


def _loss(model: Model, batch: Sequence[Lesson], chance: random.Random) -> Tensor:
    answers = [lesson.answer for lesson in batch]
    others = [chance.choice(lesson.siblings) for lesson in batch if lesson.siblings]
    tools = list(dict.fromkeys(answers + others))
    requests = model.vectors([lesson.request for lesson in batch], dropout=DROPOUT)
    closeness = requests @ model.vectors(tools, dropout=DROPOUT).T / TEMPERATURE
    return functional.cross_entropy(closeness, torch.tensor([tools.index(answer) for answer in answers]))


if __name__ == "__main__":
    raise SystemExit(main())
