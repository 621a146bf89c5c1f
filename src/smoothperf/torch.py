"""Losses for networks in PyTorch, and their last layer trained to a certified optimum. docs/networks.md says how.

Scores travel to the processor as n numbers, whatever the device, and the gradient travels back. The evaluation is an
operator of its own, ``smoothperf::measure_loss``, which ``torch.compile`` takes as it is.

Needs the extra ``torch``: ``pip install 'smoothperf[torch]'``.
"""

from typing import Any

try:
    import torch
except ImportError as _error:
    raise ImportError(
        "smoothperf.torch needs torch, which is not installed: pip install 'smoothperf[torch]'."
    ) from _error

import torch.distributed as dist
from torch import Tensor, nn

from ._validation import choice
from .estimators.classifier import MeasureClassifier
from .estimators.classifier_cv import MeasureClassifierCV
from .losses import BatchLoss
from .measures import Measure, QueryMeasure
from .optimise import Result

__all__ = ["MeasureLoss", "refit_last_layer"]

#: What the operator evaluates, by what is written of it: the arguments of an operator are tensors, numbers and text.
_LOSSES: dict[str, BatchLoss] = {}


class MeasureLoss(nn.Module):  # type: ignore[misc]
    """A bound of ``1 - measure`` as the loss of a batch, smoothed, with its exact gradient.

    No pairs are listed: it takes O(n) or O(n log n) for a batch of n. A batch that is repeated has the same loss. One
    with nothing to judge, such as one without positives, has the loss 0 and gradient 0; the first one is warned of.
    Second derivatives are not known, and are 0.

    Parameters
    ----------
    measure : str, Measure or QueryMeasure, default="roc_area"
        What to be good at: "roc_area", "roc_area@0.05", "prbep", "precision@5%", "f1", ..., or with ``qid`` "ndcg@10"
        or "pairs"; docs/measures.md has them all. Places are shares of the batch.
    bound : {"convex", "tight"}, default="convex"
        Which bound of ``1 - measure``. The convex one grows with scores that are wrong, the tight one is at most 1 and
        forgives outliers.
    smoothing : float, default=1.0
        The most that smoothing takes off the bound.
    reduction : {"mean", "sum", "none"}, default="mean"
        The losses of several labels become their mean or sum, or stay as they are.
    gather : bool, default=False
        Whether to judge the batches of all ranks as one, with ``DistributedDataParallel``, which averages gradients.

    Examples
    --------
    >>> import torch
    >>> from smoothperf.torch import MeasureLoss
    >>> scores = torch.tensor([0.5, 1.0, -2.0], requires_grad=True)
    >>> loss = MeasureLoss("prbep")(scores, torch.tensor([1, 0, 0]))
    >>> loss.backward()
    >>> round(loss.item(), 4), scores.grad
    (0.5625, tensor([-0.7500,  0.7500,  0.0000]))
    """

    def __init__(
        self,
        measure: str | Measure | QueryMeasure = "roc_area",
        bound: str = "convex",
        *,
        smoothing: float = 1.0,
        reduction: str = "mean",
        gather: bool = False,
    ):
        super().__init__()
        self.reduction = choice("reduction", reduction, ("mean", "sum", "none"))
        self.gather = gather
        self._remember(BatchLoss(measure, bound, smoothing))  # type: ignore[arg-type]

    def forward(
        self, scores: Tensor, targets: Tensor, sample_weight: Tensor | None = None, qid: Tensor | None = None
    ) -> Tensor:
        """Return the loss of a batch.

        Parameters
        ----------
        scores : Tensor of shape (n,), (n, 1) or (n, L)
            Larger for what is more likely positive, of any float type; a column for each label.
        targets : Tensor of shape (n,) or that of the scores
            Labels in {0, 1} or {-1, 1}; grades for measures of queries.
        sample_weight : Tensor of shape (n,) or that of the scores, optional
            Non-negative weights; 0 where a label is not known.
        qid : Tensor of shape (n,), optional
            The query of each score, for measures of queries.

        Returns
        -------
        loss : Tensor
            A number, or one for each label with ``reduction="none"``; of float32, or float64 where scores are.
        """
        rows, columns = scores.shape[0], scores.shape[1:].numel()
        if columns == 1 and targets.numel() == rows:
            targets = targets.reshape(scores.shape)
        if scores.ndim not in (1, 2) or targets.shape != scores.shape:
            raise ValueError(
                f"scores have shape {tuple(scores.shape)} and targets {tuple(targets.shape)}; they must match: "
                "(n,), or (n, L) for L labels. Of two scores a row take the difference, scores[:, 1] - scores[:, 0]."
            )
        weights = None if sample_weight is None else sample_weight.reshape(rows, -1).expand(rows, columns)
        # Gradients of half precision would vanish before a scaler can multiply them.
        scores = scores.to(torch.promote_types(scores.dtype, torch.float32))
        fixed = scores.detach()
        if self.gather and dist.is_available() and dist.is_initialized():
            losses, slopes = self._of_all_ranks(fixed, targets, weights, qid)
        else:
            losses, slopes = torch.ops.smoothperf.measure_loss(fixed, targets, weights, qid, self._key)
        losses = losses + torch.linalg.vecdot(slopes, scores - fixed, dim=0)  # 0, with a gradient
        if losses.ndim == 0 or self.reduction == "none":
            return losses
        return losses.sum() if self.reduction == "sum" else losses.mean()

    def _of_all_ranks(self, scores: Tensor, *others: Tensor | None) -> tuple[Tensor, Tensor]:
        """The losses of the rows of all ranks, and their gradients by the scores of this one."""
        ranks: list[Any] = [None] * dist.get_world_size()
        dist.all_gather_object(ranks, [None if part is None else part.cpu() for part in (scores, *others)])
        whole = [None if parts[0] is None else torch.cat(parts) for parts in zip(*ranks, strict=True)]
        losses, slopes = torch.ops.smoothperf.measure_loss(*whole, self._key)
        own = slopes.split([part[0].shape[0] for part in ranks])[dist.get_rank()]
        return losses.to(scores), len(ranks) * own.to(scores)  # DDP takes the mean of their gradients

    def extra_repr(self) -> str:
        """Return the parameters, for ``print``."""
        return f"{self._loss.measure!r}, bound={self._loss.bound!r}, smoothing={self._loss.smoothing}"

    def _remember(self, loss: BatchLoss) -> None:
        self._loss, self._key = loss, repr(loss)
        _LOSSES[self._key] = loss

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._remember(self._loss)  # of another process


def refit_last_layer(
    module: nn.Module,
    inputs: Any,
    y: Any = None,
    *,
    measure: str | Measure = "roc_area",
    alpha: float | None = None,
    sample_weight: Any = None,
    **options: Any,
) -> Result:
    """Train the last linear layer of a network, which has one output, to a certified optimum.

    Of what comes into the layer a linear model is made as by :class:`~smoothperf.MeasureClassifier`, and its weights
    are written into the layer. Its bias becomes the operating point: scores above 0 are predicted positive.

    Parameters
    ----------
    module : nn.Module
        The network, or the layer itself; the last ``nn.Linear`` in it is trained.
    inputs : Tensor or iterable
        Inputs of the network, or batches of them, or of pairs (inputs, labels) if y is None, as a ``DataLoader`` that
        does not shuffle has them.
    y : array-like or Tensor of shape (n,), optional
        Labels, if they are not with the inputs.
    measure : str or Measure, default="roc_area"
        What to be good at.
    alpha : float, optional
        Strength of the regulariser; by default cross-validation chooses it, and what to train with, as
        :class:`~smoothperf.MeasureClassifierCV` does.
    sample_weight : array-like of shape (n,), optional
        Non-negative weights.
    **options
        Of the classifier: ``bound``, ``tol``, with cross-validation ``operating_point={"precision": 0.9}``, ....

    Returns
    -------
    result : Result
        The outcome of the run, with the certified gap.

    Examples
    --------
    >>> import torch
    >>> from smoothperf.torch import refit_last_layer
    >>> rng = torch.Generator().manual_seed(0)
    >>> X = torch.randn(200, 3, generator=rng)
    >>> y = (X[:, 0] > 1.0).int()
    >>> net = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    >>> result = refit_last_layer(net, X, y, measure="prbep", alpha=1e-3)
    >>> bool(result.gap <= 1e-3), int((net(X) > 0).sum()) == int(y.sum())
    (True, True)
    """
    layer = ([None] + [part for part in module.modules() if isinstance(part, nn.Linear)])[-1]
    if layer is None or layer.out_features != 1:
        raise ValueError(f"the last nn.Linear must have one output, got {layer or 'no such layer'}.")
    X, labels = _inputs_of(layer, module, inputs, y)
    bias = layer.bias is not None
    classifier = (
        MeasureClassifierCV(measure, fit_intercept=bias, **options)
        if alpha is None
        else MeasureClassifier(measure, alpha, fit_intercept=bias, **options)
    )
    classifier.fit(X, labels, sample_weight)
    with torch.no_grad():
        layer.weight.copy_(torch.from_numpy(classifier.coef_))
        if bias:
            layer.bias.copy_(torch.from_numpy(classifier.intercept_))
    return classifier.result_


def _inputs_of(layer: nn.Linear, module: nn.Module, inputs: Any, y: Any) -> tuple[Any, Any]:
    """Inputs of a layer for all rows, and their labels, which may come with them."""
    seen: list[Tensor] = []
    labels: list[Tensor] = []
    hook = layer.register_forward_pre_hook(lambda _, arguments: seen.append(arguments[0].float().cpu()))
    modes = [(part, part.training) for part in module.modules()]
    module.eval()
    try:
        with torch.no_grad():
            for batch in [inputs] if isinstance(inputs, Tensor) else inputs:
                given, *rest = batch if isinstance(batch, (tuple, list)) else [batch]
                module(given.to(layer.weight.device))
                labels += rest[:1]
    finally:
        hook.remove()
        for part, mode in modes:
            part.training = mode
    y = torch.cat(labels) if y is None else y
    return torch.cat(seen).numpy(), y.cpu().numpy() if isinstance(y, Tensor) else y


# Tools for the registration of functions in Python would take longer than the loss of a small batch.
_LIBRARY = torch.library.Library("smoothperf", "DEF")
_LIBRARY.define(
    "measure_loss(Tensor scores, Tensor targets, Tensor? weights, Tensor? qid, str loss) -> (Tensor, Tensor)",
    tags=torch.Tag.pt2_compliant_tag,
)


def _evaluate(
    scores: Tensor, targets: Tensor, weights: Tensor | None, qid: Tensor | None, loss: str
) -> tuple[Tensor, Tensor]:
    """The losses of the columns of scores, and their gradients."""
    shape = scores.shape
    f, y, c = (
        None if part is None else part.to("cpu", torch.float64).numpy().reshape(shape[0], -1)
        for part in (scores, targets, weights)
    )
    losses, slopes = _LOSSES[loss](f, y, c, None if qid is None else qid.cpu().numpy())  # type: ignore[arg-type]
    return torch.from_numpy(losses.reshape(shape[1:])).to(scores), torch.from_numpy(slopes.reshape(shape)).to(scores)


def _shapes(scores: Tensor, *_: Any) -> tuple[Tensor, Tensor]:
    return scores.new_empty(scores.shape[1:]), torch.empty_like(scores, memory_format=torch.contiguous_format)


_LIBRARY.impl("measure_loss", _evaluate, "CompositeExplicitAutograd")
torch.library.register_fake("smoothperf::measure_loss", _shapes, lib=_LIBRARY)
