"""Time travel: the state after any merge of a training or of a vocabulary."""
