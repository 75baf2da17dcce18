// SPDX-License-Identifier: Apache-2.0
/** JMH benchmarks: each native one has the same work in plain Java beside it. */
package io.torchfeed.benchmarks;
