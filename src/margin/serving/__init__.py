"""A trained model behind a web address: ``margin serve RUN`` (extra ``lab``).

To read it in order: ``answering`` (a model asked with rows, texts or pictures), ``batching`` (questions that come at
the same time are asked together), ``schemas`` (what a question looks like, made from the columns of the model),
``guard`` (who may ask, and how much), ``app`` (the addresses), ``running`` (a port and a server).
"""
