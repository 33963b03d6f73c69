"""Oracles of detection."""
