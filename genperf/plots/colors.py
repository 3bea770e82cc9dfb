"""The colours of figures, and the dashes of lines."""

#: Okabe & Ito (2008), distinguished with any kind of colour vision; the order of use.
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#000000")
BLUE, ORANGE, GREEN, PINK, SKY, VERMILION, YELLOW, BLACK = PALETTE
INK, FAINT, GRID = "#1f2328", "#8a9099", "#e3e6ea"
#: Colour and marker of each verdict, so that neither is needed to read it.
VERDICT_STYLE = {"ok": (GREEN, "o"), "caution": (ORANGE, "s"), "extrapolating-blind": (VERMILION, "X")}
#: So that twice as many groups can be distinguished as there are colours.
DASHES = ("-", "--")
