"""What it is measured on: real and generated tables, MNIST."""
