"""Puts the agent into a training that runs already, and takes it out again.

processes   what /proc says about a process
checks      why a process cannot be attached to
injection   has a process run a text, in one of several ways
text        the text that joins the training, or leaves it
answers     where the text answers
attaching   all of that together
ranks       the other processes of a distributed training
trainings   the trainings of this machine
target_server   the server that the agent connects to
"""

from __future__ import annotations

from .attaching import Joined, detach, join

__all__ = ["Joined", "detach", "join"]
