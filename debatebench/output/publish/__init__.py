"""What was written is copied to where others can read it: storage like S3's, and Hugging Face's Hub.

Credentials come from the environment, or from where the packages that are used look for them, and are never printed.

bucket.py   a bucket of S3 or storage like it: what it has, what is missing there, and its errors in sentences
folders.py  a site or an export as the files to publish, each with its type
hub.py      a dataset on Hugging Face's Hub
"""
