// SPDX-License-Identifier: Apache-2.0
/** JMH benchmarks; each native one is paired with the same work in plain Java. */
package io.torchfeed.benchmarks;
