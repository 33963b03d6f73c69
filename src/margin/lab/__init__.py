"""The lab: the methods of the notes in a browser, served to this machine alone (extra ``lab``)."""
