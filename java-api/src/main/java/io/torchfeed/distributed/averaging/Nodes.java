// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.averaging;

import io.torchfeed.distributed.ProcessGroup;
import io.torchfeed.distributed.ReduceOp;
import io.torchfeed.distributed.rendezvous.GroupCore;
import java.util.stream.IntStream;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * The ranks of a group as nodes of equally many consecutive ranks; the first of them leads. With
 * one rank per node, each leads. Not thread-safe.
 */
public final class Nodes implements AutoCloseable {
  private final @Nullable ProcessGroup node;
  private final @Nullable ProcessGroup leaders;
  private final int count;

  private Nodes(@Nullable ProcessGroup node, @Nullable ProcessGroup leaders, int count) {
    this.node = node;
    this.leaders = leaders;
    this.count = count;
  }

  /**
   * Divides a group; every rank must call it. Aborting the group ends operations between and within
   * the nodes.
   *
   * @param group borrowed
   * @param ranksPerNode a divisor of the group's size
   */
  public static Nodes of(ProcessGroup group, int ranksPerNode) {
    int count = group.size() / ranksPerNode;
    if (ranksPerNode == 1) {
      return new Nodes(null, group, count);
    }
    int first = group.rank() / ranksPerNode * ranksPerNode;
    ProcessGroup node = group.subgroup(IntStream.range(first, first + ranksPerNode).toArray());
    try {
      GroupCore.OF_GROUP.of(group).abortWith(GroupCore.OF_GROUP.of(node));
      ProcessGroup leaders = null;
      if (group.rank() == first) {
        leaders = group.subgroup(IntStream.range(0, count).map(i -> i * ranksPerNode).toArray());
        GroupCore.OF_GROUP.of(group).abortWith(GroupCore.OF_GROUP.of(leaders));
      }
      return new Nodes(node, leaders, count);
    } catch (RuntimeException | Error e) {
      node.close();
      throw e;
    }
  }

  /** Returns the number of nodes. */
  public int count() {
    return count;
  }

  /** Returns the ranks of this rank's node, or null if it is alone there. */
  public @Nullable ProcessGroup node() {
    return node;
  }

  /** Returns the leaders: rank i of them leads node i; null if this rank is none of them. */
  public @Nullable ProcessGroup leaders() {
    return leaders;
  }

  /** Replaces the values of the leader with their mean over the node. */
  public void averageAtLeader(Tensor values) {
    if (node != null) {
      node.unchecked().reduce(values, ReduceOp.MEAN, 0);
    }
  }

  /** Copies the values of the leader to the other ranks of the node. */
  public void copyFromLeader(Tensor values) {
    if (node != null) {
      node.unchecked().broadcast(values, 0);
    }
  }

  /** Wakes the ranks that wait for this one, within the node and between nodes. */
  public void abandon() {
    if (node != null) {
      node.abort();
      if (leaders != null) {
        leaders.abort();
      }
    }
  }

  @Override
  public void close() {
    if (node != null) {
      node.close();
      if (leaders != null) {
        leaders.close();
      }
    }
  }
}
