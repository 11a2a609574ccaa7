"""A small trainer library in the style of Hugging Face's Trainer."""
from .trainer import Trainer, TrainingArguments

__all__ = ["Trainer", "TrainingArguments"]
