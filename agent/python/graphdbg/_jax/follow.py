"""Makes JAX debuggable in this process, right after `import jax`."""

from __future__ import annotations

from .._log import warn_not_debugged
from . import versions


def follow() -> None:
    """Follows all jitted functions that are called from now on. Never raises."""
    try:
        import jax
        from jax._src import pjit

        from .job import Job

        versions.check(str(jax.__version__), pjit)
        Job(jax, pjit).install()
    except versions.Unsupported as error:
        warn_not_debugged(str(error))
    except Exception as error:
        warn_not_debugged(f"cannot follow JAX: {type(error).__name__}: {error}")
