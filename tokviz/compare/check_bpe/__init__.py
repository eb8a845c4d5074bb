"""Diagnosis of a learner's own BPE trainer and encoder: the first difference and its cause."""
