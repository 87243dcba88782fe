"""Recipes: rows of docs/results/ that need data from outside, each from the published files to the row.

A recipe is a YAML file in this folder, see `Recipe`.
"""
