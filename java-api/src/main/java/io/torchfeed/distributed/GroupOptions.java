// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed;

import static java.util.Objects.requireNonNull;

import io.torchfeed.internal.TimeLimit;
import java.time.Duration;

/**
 * How a {@link ProcessGroup} is joined, the same on all ranks except for the device. Immutable:
 * each {@code with} method returns new options.
 */
public final class GroupOptions {
  static final Duration DEFAULT_TIMEOUT = Duration.ofMinutes(30);

  private static final GroupOptions DEFAULTS = new GroupOptions(DEFAULT_TIMEOUT, "", "", true);
  private static final String LOCAL_DEVICE = "cuda";

  private final Duration timeout;
  private final String device;
  private final String name;
  private final boolean isChecked;

  private GroupOptions(Duration timeout, String device, String name, boolean isChecked) {
    this.timeout = timeout;
    this.device = device;
    this.name = name;
    this.isChecked = isChecked;
  }

  /**
   * Returns the default options.
   *
   * @return {@link ProcessGroup#DEFAULT_TIMEOUT}, no device, no name, with checks
   */
  public static GroupOptions defaults() {
    return DEFAULTS;
  }

  /**
   * Returns the default options with a different timeout.
   *
   * @param timeout as in {@link #withTimeout}
   * @return the options
   * @throws IllegalArgumentException if it is shorter than 1 ms
   */
  public static GroupOptions ofTimeout(Duration timeout) {
    return DEFAULTS.withTimeout(timeout);
  }

  /**
   * Returns these options with a different timeout.
   *
   * @param timeout how long joining and each later operation waits for the others, at least 1 ms
   * @return the options
   * @throws IllegalArgumentException if it is shorter
   */
  public GroupOptions withTimeout(Duration timeout) {
    return new GroupOptions(TimeLimit.atLeastOneMilli("timeout", timeout), device, name, isChecked);
  }

  /**
   * Returns these options with a device: the ranks then send tensors of a GPU from device to
   * device, over NCCL. Every rank has one of its own, or none has any. Tensors of the CPU still go
   * over Gloo, and so do sparse gradients, which NCCL does not take. Without a device, tensors of a
   * GPU are copied to host memory to be sent: much slower, but also between ranks that share a GPU,
   * which NCCL does not allow. A group of one rank only checks the device.
   *
   * <p>If a rank is lost or does not respond, operations on the device end as others do, and the
   * group then sends no more tensors of the device. NCCL never ends the process: {@code
   * TORCH_NCCL_ASYNC_ERROR_HANDLING}, {@code TORCH_NCCL_ENABLE_MONITORING}, {@code
   * TORCH_NCCL_RETHROW_CUDA_ERRORS} and {@code TORCH_NCCL_BLOCKING_WAIT} are set so in this
   * process, whatever they were. {@code TORCH_NCCL_DUMP_ON_TIMEOUT}, {@code
   * TORCH_NCCL_WAIT_TIMEOUT_DUMP_MILSEC} and {@code NCCL_RUNTIME_CONNECT} become 0 unless they are
   * set, so that ranks connect when they join, and no group waits when it closes.
   *
   * <p>Groups of one device, such as a group and its sub-group, must not send tensors of it from
   * several threads at once: NCCL may then wait forever, until the timeout of the group.
   *
   * <p>If a rank has no such device or cannot load NCCL, every rank's join throws {@link
   * IllegalStateException}.
   *
   * @param device for example {@code cuda:0}, or {@code cuda}, the device whose index is {@link
   *     ProcessGroup#localRank}; the group takes no tensors of other devices of the type
   * @return the options
   */
  public GroupOptions withDevice(String device) {
    return new GroupOptions(timeout, requireNonNull(device, "device"), name, isChecked);
  }

  /**
   * Returns these options with a name that the ranks of the group have in common and other groups
   * do not, so that a process that meets another group at the master's address is refused, also if
   * only one of the two has a name. By default the job's, if the environment has one. Groups with
   * Python ranks have no names.
   *
   * @param name any text; empty for none
   * @return the options
   */
  public GroupOptions withName(String name) {
    return new GroupOptions(timeout, device, requireNonNull(name, "name").strip(), isChecked);
  }

  /**
   * Returns these options with or without the checks that {@link Collectives} describes.
   *
   * @param checks whether the group's operations compare the calls of all ranks; by default they do
   * @return the options
   */
  public GroupOptions withChecks(boolean checks) {
    return new GroupOptions(timeout, device, name, checks);
  }

  Duration timeout() {
    return timeout;
  }

  /** Returns whether tensors are sent from device to device. */
  boolean hasDevice() {
    return !device.isEmpty();
  }

  /** Returns the device of a process. */
  String device(int localRank) {
    return device.equals(LOCAL_DEVICE) ? device + ":" + localRank : device;
  }

  /** Describes the options that must be the same on all ranks. */
  String terms() {
    return "'%s checks, %s a device'"
        .formatted(isChecked ? "with" : "without", hasDevice() ? "with" : "without");
  }

  String name() {
    return name;
  }

  boolean isChecked() {
    return isChecked;
  }

  @Override
  public String toString() {
    return "GroupOptions[timeout=%s, device=%s, name=%s, checks=%b]"
        .formatted(timeout, device, name, isChecked);
  }
}
