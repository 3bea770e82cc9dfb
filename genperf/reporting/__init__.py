"""The HTML page: the answers about a model, with figures and sliders, in one file (jinja2)."""

from genperf.reporting.held_out import held_out
from genperf.reporting.html import page, report
from genperf.reporting.place import Job, View
from genperf.reporting.proposal import proposal_page
