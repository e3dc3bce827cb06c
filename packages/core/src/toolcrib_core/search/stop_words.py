"""Words that say nothing about which tool is wanted."""

from __future__ import annotations

FUNCTION_WORDS = frozenset(
    """
    a about above after again all also although am an and any anybody anyone anything are aren around as at be became
    because become been before being below between both but by can cannot could couldn did didn do does doesn doing don
    done down during each either else etc even ever every everything few for from further had hadn has hasn have haven
    having he her here hers herself him himself his how however i if in into is isn it its itself just ll may maybe me
    might mine more most much must my myself neither no nor not of off on once one only or other others our ours
    ourselves out over own per perhaps rather re s same shall she should shouldn since so some somebody someone
    something such t than that the their theirs them themselves then there these they thing things this those though
    through thus to too under until up upon us ve very via was wasn we were weren what whatever when where whether which
    while who whom whose why will with within without won would wouldn yet you your yours yourself
    d m o y ll ok okay yes oh hi hello hey
    """.split()
)
"""Grammar: left out of prose and of requests."""

REQUEST_FILLER = frozenset(
    """
    able actually ai api app application ask assist assistance assistant available based best bring can check come
    consider could currently data detail details difference easily enough example exactly explain feel figure find fetch
    function functions gather get getting give given go going good great guide hand help helpful i'd i'm include
    including info information interested it'd it's keep kind know known latest learn let let's like look looking lot
    made make making many mean mention mentioned my name necessary need needed needs new now obtain offer option options
    particular please possible possibly present provide provided quick quickly quite really recommend relate related
    request require required retrieve right said say see seem seems select show sort specific specifically still
    suggest suggestion suggestions suitable sure take tell thank thanks think tool tools try trying understand use used
    useful user using utilize various view want wanted wants way ways well whatever wish wondering work working
    """.split()
)
"""What people wrap a request in: worth little in a request, yet indexed, because tools are named `get` and `find`."""
