// SPDX-License-Identifier: Apache-2.0
/** Tests of {@link io.torchfeed.storage.S3Bucket} against a server that checks signatures. */
@NullMarked
package io.torchfeed.s3;

import org.jspecify.annotations.NullMarked;
