// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.rendezvous;

import io.torchfeed.bindings.NativeException;
import io.torchfeed.bindings.NativeHandle;
import io.torchfeed.bindings.NativeProcessGroup;
import io.torchfeed.bindings.torchfeed;
import io.torchfeed.sampler.Part;
import java.time.Duration;
import java.util.OptionalInt;
import java.util.concurrent.TimeoutException;
import java.util.function.IntPredicate;
import java.util.function.LongSupplier;
import java.util.stream.IntStream;
import org.bytedeco.javacpp.Loader;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.javacpp.chrono.Milliseconds;
import org.bytedeco.pytorch.Device;
import org.bytedeco.pytorch.Store;
import org.bytedeco.pytorch.nccl.ProcessGroupNCCL;
import org.jspecify.annotations.Nullable;

/**
 * The connections between the devices of a group: the presets' {@code ProcessGroupNCCL}, whose
 * classes and libraries are loaded here and nowhere else, so that no other program needs them.
 *
 * @param prefix the start of the keys of the devices in the store, before a slash
 */
public record NcclBackend(StoreConnection store, String prefix, Part part, Duration timeout) {
  /** Time that libtorch waits longer: its own timeout would end the operations without a word. */
  private static final Duration BEYOND_TIMEOUT = Duration.ofSeconds(5);

  /** Time in which a rank that has connected may leave, while others still do. */
  private static final Duration LOST_AFTER = Duration.ofSeconds(1);

  private static final String TYPE = "cuda";
  private static final long MIN_NCCL = 2_28_00; // the headers that libtorch 2.10 was compiled with

  /**
   * Returns why the group cannot use a device of this process.
   *
   * @param needsNccl whether NCCL is needed, too
   * @return null if it can
   */
  public static @Nullable RuntimeException obstacle(
      NativeHandle<NativeProcessGroup> group, String device, boolean needsNccl) {
    if (!device.equals(TYPE) && !device.startsWith(TYPE + ":")) {
      return new IllegalArgumentException(
          "device must be a CUDA device like cuda:0, got '" + device + "'");
    }
    try {
      group.run(mine -> mine.check_device(device));
    } catch (NativeException e) {
      return NativeException.translate(e);
    }
    return needsNccl ? missingLibrary() : null;
  }

  /** Returns why NCCL cannot be used; null if it can. */
  public static @Nullable RuntimeException missingLibrary() {
    try {
      NativeProcessGroup.prepare_nccl();
      Loader.load(ProcessGroupNCCL.class);
    } catch (LinkageError | TypeNotPresentException e) {
      return new IllegalStateException(
          "NCCL cannot be loaded ("
              + e.getMessage()
              + "); add org.bytedeco:cuda to the class path, also with the classifier "
              + Loader.getPlatform()
              + ", and install libnccl.so.2, cuSOLVER and cuSOLVERMg for the version of CUDA that"
              + " it has",
          e);
    }
    return tooOld(torchfeed.nccl_version());
  }

  /** Returns why a version of NCCL, as {@code ncclGetVersion} numbers it, is too old. */
  public static @Nullable RuntimeException tooOld(long version) {
    if (version == 0 || version >= MIN_NCCL) {
      return null; // 0: linked into another library, and so the one that libtorch was built with
    }
    return new IllegalStateException(
        "NCCL %d.%d.%d is loaded, but libtorch calls functions of %d.%d, whose absence would end the"
                .formatted(
                    version / 10_000, version / 100 % 100, version % 100, 2, MIN_NCCL / 100 % 100)
            + " process; put a newer libnccl.so.2 on LD_LIBRARY_PATH before that one");
  }

  /** Connects the devices of all ranks, and lets the group send through them. */
  public void connect(NativeHandle<NativeProcessGroup> group, String device) {
    long start = System.nanoTime();
    String exact = torchfeed.device_name(device);
    Runnable requireRanks =
        requireRanks(rank -> group.call(mine -> mine.is_lost(rank)), System::nanoTime);
    try {
      new TimeLimitedCall<>("torchfeed-nccl", () -> adopt(group, exact), adopted -> {})
          .await(timeout.plus(MeetingPoint.GRACE), requireRanks);
    } catch (TimeoutException e) {
      throw MeetingPoint.failure(start, "the devices of the ranks do not connect", e);
    } catch (NativeException e) {
      String reason = "the devices of the ranks do not connect: " + e.getMessage();
      if (reason.contains("timeout")) {
        throw MeetingPoint.failure(start, reason, e);
      }
      throw new IllegalStateException(reason, e);
    }
  }

  /**
   * Returns a check that throws if a rank has been lost for a while.
   *
   * @param isLost whether the connection to a rank is lost
   * @param nanoTime the clock
   */
  Runnable requireRanks(IntPredicate isLost, LongSupplier nanoTime) {
    long start = nanoTime.getAsLong();
    long[] whole = {start}; // the last time without a lost rank
    return () -> {
      OptionalInt lost = IntStream.range(0, part.worldSize()).filter(isLost).findFirst();
      long now = nanoTime.getAsLong();
      if (lost.isEmpty()) {
        whole[0] = now;
      } else if (now - whole[0] > LOST_AFTER.toNanos()) {
        String reason = "the devices of the ranks do not connect: its connection has ended";
        throw LossNote.lost("rendezvous", start, lost, reason, null);
      }
    };
  }

  private boolean adopt(NativeHandle<NativeProcessGroup> group, String device) {
    store
        .handle()
        .run(
            shared -> {
              try (PointerScope scope = new PointerScope()) {
                Store view = OwnedStore.shared(shared, prefix);
                ProcessGroupNCCL.Options options = ProcessGroupNCCL.Options.create();
                options.timeout(new Milliseconds(timeout.plus(BEYOND_TIMEOUT).toMillis()));
                ProcessGroupNCCL backend =
                    new ProcessGroupNCCL(view, part.rank(), part.worldSize(), options);
                backend.eagerConnectSingleDevice(new Device(device));
                group.run(mine -> mine.use_device(backend.address(), device));
              }
            });
    return true;
  }
}
