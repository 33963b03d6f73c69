"""Images beyond one label each: features that are not learned, detection of objects, a class for every pixel."""
