# SPDX-License-Identifier: Apache-2.0
"""Writes resources/golden/s3_signatures.txt, the headers by which botocore signs requests:
python3 s3_signatures.py ../resources/golden/s3_signatures.txt

Each line: its number, the address, region, access key id, secret, token, time, one more header to sign, and the
Authorization; texts are percent-encoded. The first two are the examples of AWS's documentation of S3.
"""
import datetime
import sys
from unittest import mock
from urllib.parse import quote

import botocore
import botocore.auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

AWS = ("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", None)
OTHER = ("minio", "a+b/c=d~e%f", "FwoGZXIvYXdzE+/=" * 9)
DAY = datetime.datetime(2013, 5, 24)
LATER = datetime.datetime(2026, 11, 28, 23, 59, 59)
CASES = [
    ("https://examplebucket.s3.amazonaws.com/test.txt", "us-east-1", AWS, DAY, ("Range", "bytes=0-9")),
    ("https://examplebucket.s3.amazonaws.com/?max-keys=2&prefix=J", "us-east-1", AWS, DAY, None),
    ("https://examplebucket.s3.amazonaws.com/?max-keys=2&prefix=J", "us-east-1", OTHER, DAY, None),
    ("http://127.0.0.1:9000/bucket/a/b%20c/%C3%A9%2B%26%3D~%25.csv", "eu-central-1", OTHER, LATER, None),
    ("http://127.0.0.1:80/bucket/a//b/../c", "eu-central-1", AWS, LATER, None),
    ("https://minio.example.org:443/bucket/k%2Bk", "minio-1", AWS, LATER, ("x-amz-request-payer", " requester ")),
    ("https://minio.example.org:9443/bucket/?continuation-token=1%2F2%3D&encoding-type=url&list-type=2&prefix=a%2Fb%20c",
     "us-west-2", OTHER, LATER, None),
    ("https://bucket.s3.us-west-2.amazonaws.com/?encoding-type=url&list-type=2&prefix=", "us-west-2", AWS, DAY, None),
]

with open(sys.argv[1], "w", encoding="utf-8") as out:
    print(f"# program java-api/src/test/golden/s3_signatures.py; botocore {botocore.__version__}", file=out)
    for number, (uri, region, keys, time, more) in enumerate(CASES):
        request = AWSRequest("GET", uri, headers=dict([more] if more else []))
        with mock.patch.object(botocore.auth, "get_current_datetime", return_value=time):
            botocore.auth.S3SigV4Auth(Credentials(*keys), "s3", region).add_auth(request)
        fields = {
            "uri": uri, "region": region, "id": keys[0], "secret": keys[1], "token": keys[2] or "",
            "time": time.isoformat() + "Z", "header": ":".join(more or []), "authorization": request.headers["Authorization"],
        }
        print(number, *(f"{key}={quote(value, safe='')}" for key, value in fields.items()), file=out)
