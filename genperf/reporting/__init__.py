"""The HTML page: the answers about a model, with figures and sliders, in one file (jinja2)."""

from genperf.reporting.html import held_out, page, report
from genperf.reporting.place import View
from genperf.reporting.proposal import proposal_page
