"""THE CONVERSATION: what each side asks, answers, sends and accepts."""
