"""What the verbs show: pages, which ``layout`` lays out, and JSON; a module for each verb or two.

Pure functions from the reports of the rooms below to pages and strings; nothing here prints, reads or writes.
"""
