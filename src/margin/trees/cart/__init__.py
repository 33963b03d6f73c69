"""Single binary trees (CART): growing them in compiled code, walking rows down them, pruning and drawing them."""
