"""What the columns of a table mean: the scale, the work, what follows what, and the series that rows form.

Other rooms ask here. Which factor counts the workers is decided by one function, `genperf.table.axis.axis_of`, which
`Panel.axis` hands on; whether the runs lie on one node by another, `Panel.only_node`.
"""

from genperf.panel.panel import Panel
from genperf.panel.work import Share, Work, limits, possible_work, share
