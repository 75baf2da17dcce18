// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed;

import static java.util.Objects.requireNonNull;

import io.torchfeed.bindings.NativeHandle;
import io.torchfeed.bindings.NativeProcessGroup;
import io.torchfeed.distributed.rendezvous.Environment;
import io.torchfeed.distributed.rendezvous.GroupCore;
import io.torchfeed.distributed.rendezvous.LossNote;
import io.torchfeed.distributed.rendezvous.MeetingPoint;
import io.torchfeed.distributed.rendezvous.NcclBackend;
import io.torchfeed.distributed.rendezvous.Rendezvous;
import io.torchfeed.distributed.rendezvous.StoreConnection;
import io.torchfeed.distributed.rendezvous.SubgroupMeeting;
import io.torchfeed.internal.TimeLimit;
import io.torchfeed.sampler.Part;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.OptionalInt;

/**
 * The ranks that train together, over Gloo, and on GPUs over NCCL. {@link Collectives} has their
 * operations on tensors; here are joining and leaving, the device, sub-groups, and a store of small
 * values. With ranks of Python, see {@link PythonProcessGroup}.
 *
 * <p>Thread-safe. However, no collective may run concurrently with a backward pass of a {@link
 * io.torchfeed.distributed.training.DistributedDataParallel} on the same group, since the ranks
 * could order the two differently.
 *
 * <p>{@link #close} has no effect the second time and may be called at any time from any thread. It
 * wakes calls that still run in other threads, which then throw {@link IllegalStateException}, so
 * await operations to be completed first. Close the group before the process ends: in groups of
 * three or more, a process that exits without closing counts as lost, and pending operations fail.
 */
public final class ProcessGroup extends Collectives implements AutoCloseable {
  /** The default time that an operation waits for the other ranks: 30 minutes. */
  public static final Duration DEFAULT_TIMEOUT = GroupOptions.DEFAULT_TIMEOUT;

  static {
    GroupCore.OF_GROUP.open(ProcessGroup.class, group -> group.core);
  }

  private final GroupPlace place;
  private final Environment environment;
  private final GroupCore core;
  private final Map<String, Integer> madeBefore = new HashMap<>();
  private final GroupOptions options;

  private ProcessGroup(GroupPlace place) {
    super(place.calls(place.options().isChecked()));
    this.place = place;
    environment = place.environment();
    core = place.core();
    options = place.options();
  }

  /**
   * Joins the group described by the environment, with the {@linkplain GroupOptions#defaults
   * default} options.
   *
   * @return the group, connected to all ranks; the caller closes it
   * @throws IllegalArgumentException if a variable is missing or invalid
   * @throws PeerLostException if not all ranks join within the timeout
   * @see #join(GroupOptions)
   */
  public static ProcessGroup join() {
    return join(GroupOptions.defaults());
  }

  /**
   * Joins the group described by the environment, as set by torchrun, Kubeflow, Slurm wrappers and
   * {@link io.torchfeed.distributed.launch.Launcher}.
   *
   * <p>Variables: {@code RANK} and {@code WORLD_SIZE}; {@code LOCAL_RANK}, by default the rank;
   * {@code MASTER_ADDR} and {@code MASTER_PORT}, ignored when {@code WORLD_SIZE} is 1; {@code
   * GLOO_SOCKET_IFNAME}, the network interface, ignored when the master is on the loopback
   * interface; {@code TORCHFEED_JOB_ID} or torchrun's {@code TORCHELASTIC_RUN_ID}, the {@linkplain
   * GroupOptions#withName name} of the job. Without {@code RANK} and {@code WORLD_SIZE}, the
   * variables count that a task of Slurm's {@code srun} has, a pod of Kubeflow's Trainer v2 with
   * one process ({@code PET_*}), or a pod of a Volcano job with one task ({@code VC_*}).
   *
   * @param options the same on all ranks, except for the index of the device and the timeout
   * @return the group, connected to all ranks; the caller closes it
   * @throws IllegalArgumentException if a variable is missing or invalid, ranks differ in {@code
   *     WORLD_SIZE}, or in whether they have checks or a device, or the device is no CUDA device
   * @throws IllegalStateException if another process already has this rank or the master's port,
   *     another job or program has that port, or a rank cannot use its device
   * @throws PeerLostException if not all ranks join within the timeout
   * @throws CollectiveInterruptedException if the thread is interrupted
   */
  public static ProcessGroup join(GroupOptions options) {
    return join(System.getenv(), options);
  }

  /**
   * Joins a group of ranks that meet at a given address; for programs that are started by other
   * means than environment variables. A process may join several groups, also as several ranks.
   *
   * <p>{@code GLOO_SOCKET_IFNAME} in the environment names the network interface, unless the master
   * is on the loopback interface.
   *
   * @param master where rank 0 listens, which takes over the socket if that is open already
   * @param part the number of ranks, and the rank of this process
   * @param options the same on all ranks, except for the index of the device and the timeout
   * @return the group, connected to all ranks; the caller closes it
   * @throws IllegalArgumentException if ranks differ in the number of ranks, or in whether they
   *     have checks or a device, or the device is no CUDA device
   * @throws IllegalStateException if another process already has this rank or the master's port,
   *     another group or program has that port, or a rank cannot use its device
   * @throws PeerLostException if not all ranks join within the timeout
   * @throws CollectiveInterruptedException if the thread is interrupted
   */
  public static ProcessGroup join(Master master, Part part, GroupOptions options) {
    return joined(GroupJoin.at(master, part, options));
  }

  /** Joins the group that variables describe. */
  static ProcessGroup join(Map<String, String> variables, GroupOptions options) {
    return joined(GroupJoin.fromEnvironment(variables, options));
  }

  private static ProcessGroup joined(GroupPlace place) {
    ProcessGroup group = new ProcessGroup(place).completed();
    LossNote.clear();
    return group;
  }

  /** Awaits all ranks, connects their devices, and closes the group if that fails. */
  private ProcessGroup completed() {
    try {
      // No rank may leave, and possibly close the store, while another is still connecting.
      barrier();
      if (options.hasDevice()) {
        useDevice(options.device(localRank()), size() > 1);
      }
      return this;
    } catch (RuntimeException | Error e) {
      close();
      throw e;
    }
  }

  /**
   * Returns the rank of this process in the group.
   *
   * @return in [0, {@link #size})
   */
  public int rank() {
    return environment.rank();
  }

  /**
   * Returns the number of processes in the group.
   *
   * @return at least 1
   */
  public int size() {
    return environment.worldSize();
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
   * Returns the rank of this process on its machine.
   *
   * @return {@code LOCAL_RANK}, or the rank with which the process joined if that was not set
   */
  public int localRank() {
    return environment.localRank();
  }

  /**
   * Lets the ranks send tensors of a device from device to device; a collective operation.
   *
   * @param connects whether the ranks connect over NCCL
   */
  void useDevice(String name, boolean connects) {
    requireNonNull(name, "device");
    core.requireOpen();
    DeviceAgreement.require(this, NcclBackend.obstacle(core.handle(), name, connects));
    if (connects) {
      NcclBackend backend =
          new NcclBackend(place.store(), place.key("nccl"), part(), core.timeout());
      backend.connect(core.handle(), name);
    }
  }

  /**
   * Creates a group of some of the ranks, with the options of this one.
   *
   * @param ranks as in {@link #subgroup(GroupOptions, int...)}
   * @return the sub-group, which may outlive this one; the caller closes it
   * @throws IllegalArgumentException if a rank is out of range or repeated, or this one is missing
   * @throws PeerLostException as in {@link #subgroup(GroupOptions, int...)}
   * @throws IllegalStateException if the group is closed or aborted
   */
  public ProcessGroup subgroup(int... ranks) {
    requireNonNull(ranks, "ranks");
    return subgroup(options, ranks);
  }

  /**
   * Creates a group of some of the ranks, with connections and an order of calls of its own.
   * Exactly these ranks must call this method with the same arguments; two sub-groups are made in
   * the same order by all ranks that belong to both. The master process must still be running.
   *
   * @param options of the sub-group, without a name
   * @param ranks different ranks of this group, this one among them; the first becomes rank 0
   * @return the sub-group, which may outlive this one; the caller closes it
   * @throws IllegalArgumentException if a rank is out of range or repeated, or this one is missing,
   *     or they differ in whether they have checks or a device; a rank that calls this method after
   *     the master's process has ended gets a {@link PeerLostException} for such a difference
   * @throws PeerLostException if not all of them call this method within the timeout, or one of
   *     them leaves: its process ends, its group is closed or aborted, or its thread interrupted;
   *     names ranks of this group
   * @throws CollectiveInterruptedException if the thread is interrupted while it waits for them;
   *     this group is as before
   * @throws IllegalStateException if the group is closed or aborted, or a rank cannot use its
   *     device
   */
  public ProcessGroup subgroup(GroupOptions options, int... ranks) {
    requireNonNull(ranks, "ranks");
    return subgroup(requireNonNull(options, "options"), Members.of(ranks, rank(), size()));
  }

  private ProcessGroup subgroup(GroupOptions options, Members members) {
    String name = members.name();
    String key = MeetingPoint.prefix(place.key("group/" + name + "/" + countMade(name) + "/"));
    Environment there = environment.with(members.part());
    StoreConnection shared = place.store().share();
    Rendezvous.Joined joined;
    try {
      joined = new Rendezvous.Joined(meet(options, members, key, shared), shared, key, false, true);
    } catch (RuntimeException | Error e) {
      shared.release();
      if (e.getCause() instanceof InterruptedException) {
        throw CollectiveInterruptedException.ofSubgroup(e);
      }
      throw e;
    }
    OptionalInt server = members.numberOf(place.server());
    return new ProcessGroup(
            new GroupPlace(joined, there, place.networkInterface(), server, options))
        .completed();
  }

  private NativeHandle<NativeProcessGroup> meet(
      GroupOptions options, Members members, String key, StoreConnection shared) {
    if (members.part().worldSize() == 1) {
      return MeetingPoint.alone();
    }
    long start = System.nanoTime();
    MeetingPoint point =
        new MeetingPoint(
            shared,
            key,
            environment.with(members.part()),
            place.networkInterface(),
            options.timeout(),
            start,
            members::inGroup);
    return new SubgroupMeeting(
            point,
            shared,
            members.part(),
            options.terms(),
            options.timeout(),
            members.isLost(core::isLost))
        .await(() -> core.requireOpen("rendezvous", start));
  }

  private synchronized int countMade(String name) {
    return madeBefore.merge(name, 1, Integer::sum);
  }

  /**
   * Divides the group: all ranks call this method, and those that pass the same color form a
   * sub-group, as with {@link #subgroup}.
   *
   * @param color any number
   * @param key the order of the ranks in the sub-group; equal keys are ordered by rank
   * @return the sub-group of this rank's color; the caller closes it
   * @throws PeerLostException if not all ranks call this method within the timeout
   * @throws IllegalStateException if the group is closed or aborted
   */
  public ProcessGroup split(int color, int key) {
    long[][] all = allGatherLongs(new long[] {color, key});
    return subgroup(options, Members.ofColor(all, color, rank()));
  }

  /**
   * Returns the small values that the ranks of this group share.
   *
   * @return a view, usable until the group is closed
   * @throws IllegalStateException if the group is closed or aborted
   */
  public KeyValueStore store() {
    return place.values("user/");
  }

  /**
   * Waits until every rank has called this method, and if not, names those that have not. It goes
   * through the store, so it takes milliseconds; for finding a rank that hangs. If a rank is lost
   * after all have arrived, rank 0 stays until the limit, but between one and ten seconds.
   *
   * @param limit how long to wait, at least 1 ms
   * @throws IllegalArgumentException if the limit is shorter
   * @throws PeerLostException if a rank has not called this method within the limit of every other;
   *     then that rank's call throws, too
   * @throws IllegalStateException if the group is closed or aborted
   */
  public void monitoredBarrier(Duration limit) {
    Duration counted = TimeLimit.atLeastOneMilli("limit", limit);
    place.values("barrier/" + countMade("barrier") + "/", counted).barrier(part(), counted);
  }

  /**
   * Ends the group at once, from any thread: operations in flight and later ones throw {@link
   * IllegalStateException}, the other ranks' {@link PeerLostException}. For a rank that cannot
   * continue, so that the others need not wait for the timeout. The group is still to be closed;
   * sub-groups are not affected.
   */
  public void abort() {
    core.abort();
  }

  /**
   * Like {@link #abort()}, with the reason for which this rank gives up: its operations in flight
   * and later ones throw {@link IllegalStateException} with that as their cause or, if it is a
   * {@link PeerLostException}, another one of the same rank. The first abort counts.
   *
   * @param cause the failure of this rank. Other ranks that are in an operation, or begin one soon,
   *     get its class and message in theirs; so {@link #close} of the rank that serves the store
   *     waits for them, up to a second
   */
  public void abort(Throwable cause) {
    core.abort(requireNonNull(cause, "cause"));
  }

  @Override
  public void close() {
    place.close();
  }
}
