// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist;

import io.torchfeed.distributed.GroupOptions;
import io.torchfeed.distributed.ProcessGroup;
import io.torchfeed.examples.common.CommandException;
import java.util.Arrays;
import java.util.stream.IntStream;
import org.bytedeco.pytorch.Device;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.global.torch;

/**
 * The device on which a rank trains.
 *
 * @param name {@code cpu}, or for example {@code cuda:0}
 * @param isOwn whether no other rank uses it, so that the ranks can send from device to device
 */
record TrainingDevice(String name, boolean isOwn) {
  static final String CPU = "cpu";
  static final String AUTO = "auto";
  static final String CUDA = "cuda";

  /** Returns the processor. */
  static TrainingDevice cpu() {
    return new TrainingDevice(CPU, false);
  }

  /** Returns whether {@code --device} may have this value. */
  static boolean isChoice(String choice) {
    return choice.matches("cpu|auto|cuda(:\\d{1,3})?");
  }

  /**
   * Chooses the device of a rank.
   *
   * @param choice the value of {@code --device}
   */
  static TrainingDevice of(String choice, ProcessGroup group) {
    int devices = torch.cuda_is_available() ? torch.cuda_device_count() : 0;
    String wanted = choice;
    if (choice.equals(AUTO)) {
      long[][] all = group.allGatherLongs(new long[] {devices - group.localRank()});
      wanted = Arrays.stream(all).allMatch(rank -> rank[0] > 0) ? CUDA : CPU;
    }
    if (wanted.equals(CPU)) {
      return cpu();
    }
    boolean isOwn = wanted.equals(CUDA);
    String name = isOwn ? CUDA + ":" + group.localRank() : wanted;
    int index = Integer.parseInt(name.substring(CUDA.length() + 1));
    if (index >= devices) {
      throw CommandException.wrongUse(
          "--device "
              + choice
              + " needs the device "
              + name
              + ", but libtorch sees "
              + devices
              + " CUDA devices; java-api/README.md lists the needs of a GPU",
          null);
    }
    return new TrainingDevice(name, isOwn);
  }

  /** Returns a group of the same ranks that sends from device to device, or the group itself. */
  ProcessGroup connected(ProcessGroup group) {
    if (!isOwn) {
      return group;
    }
    try {
      int[] all = IntStream.range(0, group.size()).toArray();
      return group.subgroup(GroupOptions.defaults().withDevice(name), all);
    } catch (IllegalStateException e) { // NCCL is missing, here or on another rank
      throw new CommandException(String.valueOf(e.getMessage()), e);
    }
  }

  /** Moves the parameters of a module. */
  void hold(Module module) {
    try (Device device = new Device(name)) {
      module.to(device, false);
    }
  }
}
