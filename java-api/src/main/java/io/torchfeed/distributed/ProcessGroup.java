// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed;

import io.torchfeed.bindings.NativeException;
import io.torchfeed.bindings.NativeHandle;
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
 * <p>Every rank makes the same calls in the same order, with tensors of one shape and dtype; a rank
 * that differs is an {@link IllegalArgumentException} on all of them. Tensors may be strided in any
 * way. Thread-safe, calls run one after another; but no collective may run beside a backward of a
 * {@link DistributedDataParallel}, since the ranks could order the two differently.
 *
 * <p>{@link #close} is silent the second time and may come at any moment from any thread; it waits
 * at most two seconds for what a failed operation left in flight. A call that is running in another
 * thread is not woken: it ends by itself or by the timeout. A process that ends without it is fine
 * too.
 */
public final class ProcessGroup implements AutoCloseable {
  /** How long an operation waits for the other ranks unless told otherwise: 30 minutes. */
  public static final Duration DEFAULT_TIMEOUT = Duration.ofMinutes(30);

  private final NativeHandle<io.torchfeed.bindings.ProcessGroup> handle;
  private final Environment environment;
  private final PairedMessages messages;

  private ProcessGroup(Rendezvous.Joined joined, Environment environment) {
    handle = joined.group();
    this.environment = environment;
    messages = new PairedMessages(joined.backend(), environment.rank(), environment.worldSize());
  }

  /**
   * Joins the group that the environment describes, with {@link #DEFAULT_TIMEOUT}.
   *
   * @return the group, connected to all ranks; the caller closes it
   * @throws IllegalArgumentException if a variable is missing or wrong
   * @throws PeerLostException if not all ranks come within the timeout
   * @see #fromEnvironment(Duration)
   */
  public static ProcessGroup fromEnvironment() {
    return fromEnvironment(DEFAULT_TIMEOUT);
  }

  /**
   * Joins the group that the environment describes, as torchrun, Kubeflow, Slurm wrappers and
   * {@link Launcher} do.
   *
   * <p>Variables: {@code RANK} and {@code WORLD_SIZE}; {@code LOCAL_RANK}, by default the rank;
   * {@code MASTER_ADDR} and {@code MASTER_PORT}, not read when {@code WORLD_SIZE} is 1; {@code
   * GLOO_SOCKET_IFNAME}, the network interface, read unless the master is on the loopback.
   *
   * @param timeout how long joining and each later operation waits for the others, at least 1 ms
   * @return the group, connected to all ranks; the caller closes it
   * @throws IllegalArgumentException if a variable is missing or wrong, or the timeout too short
   * @throws IllegalStateException if another process has this rank, or the master's port, already
   * @throws PeerLostException if not all ranks come within the timeout
   */
  public static ProcessGroup fromEnvironment(Duration timeout) {
    return fromEnvironment(System.getenv(), timeout);
  }

  static ProcessGroup fromEnvironment(Map<String, String> variables, Duration timeout) {
    if (Objects.requireNonNull(timeout, "timeout").toMillis() < 1) {
      throw new IllegalArgumentException("timeout must be at least 1 ms, got " + timeout);
    }
    Environment environment = Environment.of(variables);
    ParentWatch.start(variables);
    try (Rendezvous rendezvous = new Rendezvous(environment, variables, timeout)) {
      ProcessGroup group = new ProcessGroup(rendezvous.join(), environment);
      try {
        // Nobody may leave, and take the store along, while another rank still connects.
        group.barrier();
      } catch (RuntimeException e) {
        group.close();
        throw e;
      }
      return group;
    }
  }

  /**
   * The number of this process in the group.
   *
   * @return in [0, {@link #size})
   */
  public int rank() {
    return environment.rank();
  }

  /**
   * The number of processes in the group.
   *
   * @return at least 1
   */
  public int size() {
    return environment.worldSize();
  }

  /**
   * The number of this process on its machine.
   *
   * @return {@code LOCAL_RANK}, or the rank where it was not set
   */
  public int localRank() {
    return environment.localRank();
  }

  /**
   * Returns when every rank has called it.
   *
   * @throws PeerLostException if a rank is gone or does not come within the timeout
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
   * Replaces the tensor on every rank by its reduction over all ranks.
   *
   * @param tensor of any shape; float32, float64, float16, bfloat16, int8, uint8, int32 or int64;
   *     written in place, outside of autograd
   * @param op how the values are joined
   * @throws IllegalArgumentException if the ranks' tensors differ in shape or dtype
   * @throws PeerLostException if a rank is gone or does not come within the timeout
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
   * Replaces the tensor on every rank by that of one rank.
   *
   * @param tensor of any shape and dtype; written in place, outside of autograd
   * @param root the rank whose values all get, in [0, {@link #size})
   * @throws IllegalArgumentException if root is out of range, or the ranks' tensors differ in shape
   *     or dtype
   * @throws PeerLostException if a rank is gone or does not come within the timeout
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
   * The tensors of all ranks.
   *
   * @param tensor of any shape and dtype, the same on all ranks; only read
   * @return one tensor a rank, in rank order, views of one block of memory; the caller owns them
   * @throws IllegalArgumentException if the ranks' tensors differ in shape or dtype
   * @throws PeerLostException if a rank is gone or does not come within the timeout
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
   * The numbers of all ranks, in the form that {@code PlanCheck} of the samplers takes:
   *
   * <pre>{@code
   * PlanCheck.beforeEpoch(sampler, epoch, batchSize, group::allGatherLongs);
   * }</pre>
   *
   * @param mine the numbers of this rank, at least one and on all ranks equally many; only read
   * @return one new array a rank, in rank order
   * @throws IllegalArgumentException if {@code mine} is empty, or the ranks' lengths differ
   * @throws PeerLostException if a rank is gone or does not come within the timeout
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
   * Gives every rank a message and takes one of each, in the form that {@code AllToAll} of the
   * partitions takes:
   *
   * <pre>{@code
   * Edges edges = EdgeLoader.over(plan).build().load(group.rank(), group::allToAll);
   * }</pre>
   *
   * <p>The bytes travel as they are, in pieces of at most 4 MB: beside the messages it needs twice
   * that of native memory, for any number of ranks.
   *
   * @param messages what to send, to rank i message i, also to this rank itself; of any lengths,
   *     only read
   * @return what was received, message i from rank i; that of this rank is the array it gave
   * @throws IllegalArgumentException if there is not one message for each rank, on all ranks
   * @throws PeerLostException if a rank is gone or does not come within the timeout
   * @throws IllegalStateException if the group is closed
   * @throws OutOfMemoryError if the heap does not hold what is received
   */
  public byte[][] allToAll(byte[][] messages) {
    Objects.requireNonNull(messages, "messages");
    handle.acquire();
    try {
      synchronized (this.messages) {
        return this.messages.exchange(
            messages, lengths -> allGatherLongs(PairedMessages.OPERATION, lengths));
      }
    } finally {
      handle.release();
    }
  }

  @Override
  public void close() {
    handle.close();
  }

  /** Makes a native object on this group; {@code maker} throws what {@link NativeHandle} throws. */
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

  /** The public exception for a native failure of an operation that began at {@code start}. */
  RuntimeException failure(String operation, long start, NativeException e) {
    String reason = String.valueOf(e.getMessage());
    return switch (e.code()) {
      case PEER_LOST, TIMEOUT ->
          new PeerLostException(
              operation, Duration.ofNanos(System.nanoTime() - start), onlyOther(), reason, e);
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
