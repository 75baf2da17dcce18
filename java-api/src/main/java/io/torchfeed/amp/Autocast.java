// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.amp;

import static java.util.Objects.requireNonNull;

import io.torchfeed.bindings.Facade;
import io.torchfeed.bindings.NativeException;
import io.torchfeed.bindings.torchfeed;
import io.torchfeed.memory.DType;
import org.bytedeco.pytorch.Device;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.DeviceType;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.jspecify.annotations.Nullable;

/**
 * A scope in which this thread computes tolerant operations in 16 bits, for example products of
 * matrices, and keeps others in float32, for example losses. Each operation converts its arguments;
 * parameters stay as they are.
 *
 * <p>A scope ends when it is closed, by the thread that began it; scopes inside of it end before.
 * Scopes of one thread must not mix float16 and bfloat16 for the same parameters: libtorch keeps
 * one converted copy of each. A {@code BatchTransform} of a loader without workers runs in the
 * thread that takes the batches, and so in its scope. It affects neither other threads nor backward
 * passes, which compute in the dtypes of their forward passes.
 *
 * <p>Source: torch 2.10.0, {@code torch/amp/autocast_mode.py}; golden/mixed_precision.
 */
public final class Autocast implements AutoCloseable {
  private static final ThreadLocal<@Nullable Autocast> INNERMOST = new ThreadLocal<>();

  private final Thread thread = Thread.currentThread();
  private final @Nullable Autocast outer = INNERMOST.get();
  private final DeviceType type;
  private final boolean wasEnabled;
  private final ScalarType dtypeBefore;
  private boolean isClosed;

  private Autocast(DeviceType type, boolean enabled, ScalarType dtype) {
    this.type = type;
    wasEnabled = torch.is_autocast_enabled(type);
    dtypeBefore = torch.get_autocast_dtype(type);
    torch.set_autocast_enabled(type, enabled);
    torch.set_autocast_dtype(type, dtype);
    torch.increment_nesting();
    INNERMOST.set(this);
  }

  /**
   * Begins a scope in which tensors of a type of device are computed in 16 bits.
   *
   * @param device the name of a device or its type, for example {@code cuda:0} or {@code cpu}
   * @param dtype {@link DType#BFLOAT16}, or {@link DType#FLOAT16}, which needs a {@link GradScaler}
   * @return the scope; the caller closes it
   * @throws IllegalArgumentException if libtorch has no such scopes for the device, its index is
   *     too high, or the dtype is another one
   * @throws IllegalStateException if libtorch has no devices of the type
   */
  public static Autocast on(String device, DType dtype) {
    requireNonNull(device, "device");
    requireNonNull(dtype, "dtype");
    if (dtype != DType.BFLOAT16 && dtype != DType.FLOAT16) {
      throw new IllegalArgumentException("dtype must be BFLOAT16 or FLOAT16, got " + dtype);
    }
    return new Autocast(typeOf(device), true, dtype.scalarType());
  }

  /**
   * Begins a scope, usually inside of another one, that computes tensors of a type of device in
   * their own dtypes.
   *
   * @param device the name of a device or its type
   * @return the scope; the caller closes it
   * @throws IllegalArgumentException if libtorch has no such scopes for the device, or its index is
   *     too high
   * @throws IllegalStateException if libtorch has no devices of the type
   */
  public static Autocast off(String device) {
    requireNonNull(device, "device");
    DeviceType type = typeOf(device);
    return new Autocast(type, false, torch.get_autocast_dtype(type));
  }

  private static DeviceType typeOf(String name) {
    Facade.load();
    DeviceType type;
    try (Device device = new Device(name)) {
      type = device.type().intern();
    } catch (RuntimeException e) {
      throw new IllegalArgumentException(
          "device must be a name like cuda:0, got '" + name + "'", e);
    }
    if (!torch.is_autocast_available(type)) {
      throw new IllegalArgumentException("libtorch has no autocast for the device " + name);
    }
    if (type != DeviceType.CPU) {
      try {
        String unused = torchfeed.device_name(name);
      } catch (RuntimeException e) {
        throw NativeException.translate(e);
      }
    }
    return type;
  }

  /**
   * Ends the scope; no effect the second time.
   *
   * @throws IllegalStateException if another thread began it, or a scope inside of it has not ended
   */
  @Override
  public void close() {
    if (isClosed) {
      return;
    }
    if (Thread.currentThread() != thread) {
      throw new IllegalStateException(
          "a scope of Autocast must be closed by the thread that began it, " + thread.getName());
    }
    if (INNERMOST.get() != this) {
      throw new IllegalStateException("close the scopes of Autocast inside of this one first");
    }
    isClosed = true;
    if (outer == null) {
      INNERMOST.remove();
    } else {
      INNERMOST.set(outer);
    }
    if (torch.decrement_nesting() == 0) {
      torch.clear_cache(); // of converted parameters, which an optimizer may change now
    }
    torch.set_autocast_enabled(type, wasEnabled);
    torch.set_autocast_dtype(type, dtypeBefore);
  }
}
