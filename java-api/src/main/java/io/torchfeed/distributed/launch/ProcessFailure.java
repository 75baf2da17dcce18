// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.launch;

/**
 * The failure of a process of an elastic launch.
 *
 * @param rank in the generation; -1 if it was in none
 * @param generation 0 if it was in none
 * @param hasLostPeer whether it failed because another one was lost
 * @param nanos when it was noticed
 */
record ProcessFailure(
    String process,
    int rank,
    int generation,
    int exitCode,
    String errorTail,
    boolean hasLostPeer,
    long nanos) {}
