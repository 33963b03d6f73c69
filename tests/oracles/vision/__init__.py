"""Oracles of image features and of detection."""
