// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed;

import io.torchfeed.bindings.NativeException;
import io.torchfeed.bindings.NativeHandle;
import io.torchfeed.sampler.Part;
import java.time.Duration;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalInt;
import java.util.function.Function;
import org.bytedeco.javacpp.LongPointer;
import org.bytedeco.pytorch.Tensor;

/**
 * The ranks that train together, and their collective operations on CPU tensors.
 *
 * <p>Every rank must make the same calls in the same order, with tensors of the same shape and
 * dtype; if they differ, all ranks throw {@link IllegalArgumentException}. Tensors may have any
 * strides. Thread-safe: calls run one at a time. However, no collective may run concurrently with a
 * backward pass of a {@link DistributedDataParallel}, since the ranks could order the two
 * differently.
 *
 * <p>{@link #close} has no effect the second time and may be called at any time from any thread; it
 * waits at most two seconds for operations that a failure left in flight. A call still running in
 * another thread is not interrupted: it completes or times out. A process may also exit without
 * closing the group.
 */
public final class ProcessGroup implements AutoCloseable {
  /** The default time that an operation waits for the other ranks: 30 minutes. */
  public static final Duration DEFAULT_TIMEOUT = Duration.ofMinutes(30);

  private final NativeHandle<io.torchfeed.bindings.ProcessGroup> handle;
  private final Environment environment;
  private final AllToAllExchange messages;

  private ProcessGroup(Rendezvous.Joined joined, Environment environment) {
    handle = joined.group();
    this.environment = environment;
    messages = new AllToAllExchange(joined.backend(), environment.part());
  }

  /**
   * Joins the group described by the environment, with {@link #DEFAULT_TIMEOUT}.
   *
   * @return the group, connected to all ranks; the caller closes it
   * @throws IllegalArgumentException if a variable is missing or invalid
   * @throws PeerLostException if not all ranks join within the timeout
   * @see #fromEnvironment(Duration)
   */
  public static ProcessGroup fromEnvironment() {
    return fromEnvironment(DEFAULT_TIMEOUT);
  }

  /**
   * Joins the group described by the environment, as set by torchrun, Kubeflow, Slurm wrappers and
   * {@link Launcher}.
   *
   * <p>Variables: {@code RANK} and {@code WORLD_SIZE}; {@code LOCAL_RANK}, by default the rank;
   * {@code MASTER_ADDR} and {@code MASTER_PORT}, ignored when {@code WORLD_SIZE} is 1; {@code
   * GLOO_SOCKET_IFNAME}, the network interface, ignored when the master is on the loopback
   * interface.
   *
   * @param timeout how long joining and each later operation waits for the others, at least 1 ms
   * @return the group, connected to all ranks; the caller closes it
   * @throws IllegalArgumentException if a variable is missing or invalid, or the timeout is too
   *     short
   * @throws IllegalStateException if another process already has this rank or the master's port
   * @throws PeerLostException if not all ranks join within the timeout
   */
  public static ProcessGroup fromEnvironment(Duration timeout) {
    return fromEnvironment(System.getenv(), timeout);
  }

  static ProcessGroup fromEnvironment(Map<String, String> variables, Duration timeout) {
    if (Objects.requireNonNull(timeout, "timeout").toMillis() < 1) {
      throw new IllegalArgumentException("timeout must be at least 1 ms, got " + timeout);
    }
    Environment environment = Environment.of(variables);
    ParentWatchdog.start(variables);
    try (Rendezvous rendezvous = new Rendezvous(environment, variables, timeout)) {
      ProcessGroup group = new ProcessGroup(rendezvous.join(), environment);
      try {
        // No rank may leave, and possibly close the store, while another is still connecting.
        group.barrier();
      } catch (RuntimeException | Error e) {
        group.close();
        throw e;
      }
      LossNote.clear();
      return group;
    }
  }

  /**
   * Returns the part of the data that this process gets: the rank and the number of processes, as
   * samplers take them.
   *
   * @return {@link #rank} of {@link #size}
   */
  public Part part() {
    return environment.part();
  }

  /**
   * Returns the rank of this process in the group.
   *
   * @return in [0, {@link #size})
   */
  public int rank() {
    return environment.part().rank();
  }

  /**
   * Returns the number of processes in the group.
   *
   * @return at least 1
   */
  public int size() {
    return environment.part().worldSize();
  }

  /**
   * Returns the rank of this process on its machine.
   *
   * @return {@code LOCAL_RANK}, or the rank if that was not set
   */
  public int localRank() {
    return environment.localRank();
  }

  /**
   * Waits until every rank has called this method.
   *
   * @throws PeerLostException if a rank is lost or does not respond within the timeout
   * @throws IllegalStateException if the group is closed
   */
  public void barrier() {
    collective(
        "barrier",
        group -> {
          group.barrier();
          return group;
        });
  }

  /**
   * Replaces the tensor on every rank with its reduction over all ranks.
   *
   * @param tensor of any shape; float32, float64, float16, bfloat16, int8, uint8, int32 or int64;
   *     updated in place, without recording for autograd
   * @param op how the values are combined
   * @throws IllegalArgumentException if the ranks' tensors differ in shape or dtype
   * @throws PeerLostException if a rank is lost or does not respond within the timeout
   * @throws IllegalStateException if the group is closed
   */
  public void allReduce(Tensor tensor, ReduceOp op) {
    Objects.requireNonNull(tensor, "tensor");
    collective(
        "all-reduce",
        group -> {
          group.all_reduce(tensor, op.code());
          return group;
        });
  }

  /**
   * Replaces the tensor on every rank with that of one rank.
   *
   * @param tensor of any shape and dtype; updated in place, without recording for autograd
   * @param root the rank whose values are sent to all, in [0, {@link #size})
   * @throws IllegalArgumentException if root is out of range, or the ranks' tensors differ in shape
   *     or dtype
   * @throws PeerLostException if a rank is lost or does not respond within the timeout
   * @throws IllegalStateException if the group is closed
   */
  public void broadcast(Tensor tensor, int root) {
    Objects.requireNonNull(tensor, "tensor");
    collective(
        "broadcast",
        group -> {
          group.broadcast(tensor, root);
          return group;
        });
  }

  /**
   * Returns the tensors of all ranks.
   *
   * @param tensor of any shape and dtype, the same on all ranks; not modified
   * @return one tensor per rank, in rank order, all views of one block of memory; the caller owns
   *     them
   * @throws IllegalArgumentException if the ranks' tensors differ in shape or dtype
   * @throws PeerLostException if a rank is lost or does not respond within the timeout
   * @throws IllegalStateException if the group is closed
   */
  public Tensor[] allGather(Tensor tensor) {
    return allGather("all-gather", Objects.requireNonNull(tensor, "tensor"));
  }

  private Tensor[] allGather(String operation, Tensor tensor) {
    try (Tensor stacked = collective(operation, group -> group.all_gather(tensor))) {
      Tensor[] tensors = new Tensor[size()];
      for (int i = 0; i < tensors.length; i++) {
        tensors[i] = stacked.select(0, i);
      }
      return tensors;
    }
  }

  /**
   * Returns the numbers of all ranks; has the signature that the samplers' {@code RankConsistency}
   * expects:
   *
   * <pre>{@code
   * RankConsistency.beforeEpoch(sampler, epoch, batchSize, group::allGatherLongs);
   * }</pre>
   *
   * @param mine the numbers of this rank, at least one, and equally many on all ranks; not modified
   * @return one new array per rank, in rank order
   * @throws IllegalArgumentException if {@code mine} is empty, or the ranks' lengths differ
   * @throws PeerLostException if a rank is lost or does not respond within the timeout
   * @throws IllegalStateException if the group is closed
   */
  public long[][] allGatherLongs(long[] mine) {
    if (mine.length == 0) {
      throw new IllegalArgumentException("mine must hold at least 1 number, got 0");
    }
    return allGatherLongs("all-gather", mine);
  }

  private long[][] allGatherLongs(String operation, long[] mine) {
    long[][] all = new long[size()][mine.length];
    try (Tensor tensor = Tensor.create(mine, mine.length)) {
      Tensor[] gathered = allGather(operation, tensor);
      for (int i = 0; i < gathered.length; i++) {
        try (Tensor each = gathered[i]) {
          new LongPointer(each.data_ptr()).get(all[i]);
        }
      }
    }
    return all;
  }

  /**
   * Sends a message to every rank and receives one from each; implements {@code AllToAll} of the
   * partition package:
   *
   * <pre>{@code
   * Edges edges = EdgeLoader.over(plan).build().load(group.rank(), group::allToAll);
   * }</pre>
   *
   * <p>The bytes are sent unchanged in pieces of at most 4 MiB. Besides the messages, the exchange
   * needs native memory for two pieces, regardless of the number of ranks.
   *
   * @param messages the messages to send: message i goes to rank i, including this rank itself; of
   *     any lengths, not modified
   * @return the messages received: message i comes from rank i; the entry of this rank is the array
   *     that was passed in
   * @throws IllegalArgumentException on all ranks, if any rank does not pass one message per rank
   * @throws PeerLostException if a rank is lost or does not respond within the timeout
   * @throws IllegalStateException if the group is closed
   * @throws OutOfMemoryError if the received messages do not fit into the heap
   */
  public byte[][] allToAll(byte[][] messages) {
    Objects.requireNonNull(messages, "messages");
    handle.acquire();
    try {
      synchronized (this.messages) {
        return this.messages.exchange(
            messages, lengths -> allGatherLongs(AllToAllExchange.OPERATION, lengths));
      }
    } finally {
      handle.release();
    }
  }

  @Override
  public void close() {
    handle.close();
  }

  /** Creates a native object on this group; {@code maker} throws as {@link NativeHandle} does. */
  <R> R make(String operation, Function<io.torchfeed.bindings.ProcessGroup, R> maker) {
    long start = System.nanoTime();
    handle.acquire();
    try {
      return maker.apply(handle.call(Function.identity()));
    } catch (NativeException e) {
      throw failure(operation, start, e);
    } finally {
      handle.release();
    }
  }

  /** Returns the public exception for a native failure of an operation that began at start. */
  RuntimeException failure(String operation, long start, NativeException e) {
    String reason = String.valueOf(e.getMessage());
    return switch (e.code()) {
      case PEER_LOST, TIMEOUT -> PeerLostException.noted(operation, start, onlyOther(), reason, e);
      default -> new IllegalStateException(operation + " failed: " + reason, e);
    };
  }

  private <R> R collective(String operation, Function<io.torchfeed.bindings.ProcessGroup, R> body) {
    long start = System.nanoTime();
    try {
      return handle.call(body);
    } catch (NativeException e) {
      throw failure(operation, start, e);
    }
  }

  private OptionalInt onlyOther() {
    return size() == 2 ? OptionalInt.of(1 - rank()) : OptionalInt.empty();
  }
}
