"""Statistics of an array, as the agent computes them of a tensor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphdbg.client.models import Statistics

if TYPE_CHECKING:
    from graphdbg.client.arrays import Array


def statistics_of(array: Array) -> Statistics:
    """Counts of all elements, and measures of the finite ones, accumulated in float64."""
    import numpy

    flat = array.reshape(-1)
    if numpy.iscomplexobj(flat):
        flat = flat.view(flat.real.dtype)
    values = flat.astype(numpy.float64)
    finite = values[numpy.isfinite(values)]
    size = numpy.abs(finite)
    some = finite.size > 0
    return Statistics(
        count=int(array.size),
        nan_count=int(numpy.isnan(values).sum()),
        pos_inf_count=int((values == numpy.inf).sum()),
        neg_inf_count=int((values == -numpy.inf).sum()),
        zero_count=int((finite == 0).sum()),
        negative_count=int((finite < 0).sum()),
        positive_count=int((finite > 0).sum()),
        min=float(finite.min()) if some else None,
        max=float(finite.max()) if some else None,
        mean=float(finite.mean()) if some else None,
        abs_mean=float(size.mean()) if some else None,
        abs_max=float(size.max()) if some else None,
        variance=float(finite.var()) if some else None,
        l1=float(size.sum()) if some else None,
        l2=float(numpy.sqrt(numpy.square(size).sum())) if some else None,
    )
