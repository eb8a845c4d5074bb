"""Two tokenizers, or two trainings, side by side."""
