"""What ties documents together: how alike they are, who corroborates whom, and how a change travels between them."""
