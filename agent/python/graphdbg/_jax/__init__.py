"""The JAX adapter: each jitted function that trains is a graph, and each call of it is a step.

A compiled function has no ops to hook, and anything put into it changes its results. But
functions of JAX are pure: the program's own executable makes the results, and while
somebody looks, a copy of the function with taps (taps.py) runs beside it on the same
inputs. Stops happen in Python, after the copy has run and before the original does.
While nobody looks, calls take JAX's fast path, and only their end is seen (seam.py).
"""
