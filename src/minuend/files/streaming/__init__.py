"""Reading, computing and writing region by region, in bounded memory, by a few threads or a Dask cluster."""
