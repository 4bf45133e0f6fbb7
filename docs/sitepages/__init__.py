"""The pages of the site that are made from tables: of versions, of measurements, of schemas.

Each module has ``pages(language)``, which yields every page in one language. ``docs/build.py`` lays them beside the
pages that people wrote, and has Sphinx make HTML of both.
"""
