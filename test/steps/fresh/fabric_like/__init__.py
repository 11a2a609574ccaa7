"""A small trainer library in the style of Lightning 1: one Loop class runs epochs and batches."""
from .loops import FitLoop, Loop, TrainingEpochLoop
from .module import Callback, Module
from .trainer import Trainer

__all__ = ["Callback", "FitLoop", "Loop", "Module", "Trainer", "TrainingEpochLoop"]
