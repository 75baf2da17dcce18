// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed;

import io.torchfeed.distributed.rendezvous.GroupCore;
import io.torchfeed.distributed.rendezvous.LossNote;
import io.torchfeed.sampler.Part;

/**
 * A group in which ranks may be Python's: the default group of PyTorch 2.10, which they join by
 * {@code torch.distributed.init_process_group("gloo")}. This process may be rank 0 or any other.
 *
 * <p>Operations send the same data as Python's of the same name, and are never checked. Tensors of
 * a device are sent through host memory. Models are trained together by {@link
 * io.torchfeed.distributed.training.PythonDataParallel}.
 *
 * <p>Thread-safe, like {@link ProcessGroup}, and closed in the same way.
 */
public final class PythonProcessGroup extends TensorCollectives implements AutoCloseable {
  static {
    GroupCore.OF_PYTHON_GROUP.open(PythonProcessGroup.class, group -> group.place.core());
  }

  private final GroupPlace place;

  private PythonProcessGroup(GroupPlace place) {
    super(place.calls(/* isChecked= */ false));
    this.place = place;
  }

  /**
   * Joins the group described by the environment. The variables of {@link
   * ProcessGroup#join(GroupOptions)} apply, which Python reads too.
   *
   * @param options without a device; the ranks never check their calls, and need no name
   * @return the group, connected to all ranks; the caller closes it
   * @throws IllegalArgumentException if a variable is missing or invalid, or asks Python's ranks
   *     for features that this process lacks ({@code TORCH_DISTRIBUTED_DEBUG=DETAIL}, {@code
   *     TORCH_DIST_INIT_BARRIER}, {@code TORCH_GLOO_LAZY_INIT}, several network interfaces), or the
   *     options have a device
   * @throws PeerLostException if not all ranks join within the timeout
   */
  public static PythonProcessGroup join(GroupOptions options) {
    return of(GroupJoin.pythonFromEnvironment(System.getenv(), options));
  }

  /**
   * Like {@link #join(GroupOptions)}, with arguments instead of environment variables.
   *
   * @param master where rank 0 listens, which takes over the socket if that is open already
   * @param part the number of ranks, and the rank of this process
   * @param options without a device; the ranks never check their calls, and need no name
   * @return the group, connected to all ranks; the caller closes it
   * @throws IllegalArgumentException if the environment asks Python's ranks for features that this
   *     process lacks, or the options have a device
   * @throws PeerLostException if not all ranks join within the timeout
   */
  public static PythonProcessGroup join(Master master, Part part, GroupOptions options) {
    return of(GroupJoin.pythonAt(master, part, options));
  }

  private static PythonProcessGroup of(GroupPlace place) {
    PythonProcessGroup group = new PythonProcessGroup(place);
    LossNote.clear();
    return group;
  }

  /**
   * Returns the rank of this process in the group.
   *
   * @return in [0, {@link #size})
   */
  public int rank() {
    return place.environment().rank();
  }

  /**
   * Returns the number of processes in the group.
   *
   * @return at least 1
   */
  public int size() {
    return place.environment().worldSize();
  }

  /**
   * Returns the part of the data that this process gets: the rank and the number of processes, as
   * samplers take them.
   *
   * @return {@link #rank} of {@link #size}
   */
  public Part part() {
    return place.environment().part();
  }

  /**
   * Returns the rank of this process on its machine.
   *
   * @return {@code LOCAL_RANK}, or the rank with which the process joined if that was not set
   */
  public int localRank() {
    return place.environment().localRank();
  }

  /**
   * Returns the values in the store of Python's default group, Gloo's own among them.
   *
   * @return a view, usable until the group is closed
   * @throws IllegalStateException if the group is closed or aborted
   */
  public KeyValueStore store() {
    return place.values("");
  }

  /**
   * Ends the group at once, from any thread, as {@link ProcessGroup#abort} does; Python's ranks
   * notice that the connection is lost.
   */
  public void abort() {
    place.core().abort();
  }

  @Override
  public void close() {
    place.close();
  }
}
