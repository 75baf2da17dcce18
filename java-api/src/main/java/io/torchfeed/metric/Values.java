// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.metric;

import static java.util.Objects.requireNonNull;

import java.util.Arrays;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/** The values of tensors as arrays, and the checks of tensors. */
final class Values {
  private static final int MAX_VALUES = Integer.MAX_VALUE - 8; // of an array

  private static final long MAX_EXACT = 1L << 53; // of a double

  private Values() {}

  /** Returns the values in the order of the rows. */
  static double[] reals(Tensor tensor) {
    double[] values = new double[count(tensor)];
    if (values.length > 0) {
      try (PointerScope scope = new PointerScope()) {
        if (tensor.scalar_type().intern() == torch.ScalarType.Float) {
          float[] floats = new float[values.length];
          onHost(tensor, torch.ScalarType.Float).data_ptr_float().get(floats);
          for (int i = 0; i < floats.length; i++) {
            values[i] = floats[i];
          }
        } else {
          onHost(tensor, torch.ScalarType.Double).data_ptr_double().get(values);
        }
      }
    }
    return values;
  }

  /** Returns the whole numbers in the order of the rows. */
  static long[] wholes(Tensor tensor) {
    long[] values = new long[count(tensor)];
    if (values.length > 0) {
      try (PointerScope scope = new PointerScope()) {
        onHost(tensor, torch.ScalarType.Long).data_ptr_long().get(values);
      }
    }
    return values;
  }

  /** Returns the tensor, or a copy of it in the order of the rows. */
  private static Tensor onHost(Tensor tensor, torch.ScalarType type) {
    boolean isThere =
        tensor.is_cpu()
            && tensor.is_contiguous()
            && !tensor.is_neg()
            && tensor.scalar_type().intern() == type;
    return isThere ? tensor : tensor.detach().cpu().to(type).resolve_neg().contiguous();
  }

  /** Returns the number of values, which must fit into an array. */
  private static int count(Tensor tensor) {
    if (tensor.numel() > MAX_VALUES) {
      throw new IllegalArgumentException(
          "a tensor of an update must have less than 2^31 - 8 values, got %s; update by parts"
              .formatted(describe(tensor)));
    }
    return (int) tensor.numel();
  }

  static boolean isWhole(Tensor tensor) {
    return torch.isIntegralType(tensor.scalar_type(), true);
  }

  static Tensor requireWhole(String name, Tensor tensor) {
    if (!isWhole(requireNonNull(tensor, name))) {
      throw new IllegalArgumentException(
          "%s must have whole numbers or booleans, got %s".formatted(name, describe(tensor)));
    }
    return tensor;
  }

  static Tensor requireReal(String name, Tensor tensor) {
    if (!isWhole(requireNonNull(tensor, name)) && !torch.isFloatingType(tensor.scalar_type())) {
      throw new IllegalArgumentException(
          "%s must have real numbers, got %s".formatted(name, describe(tensor)));
    }
    return tensor;
  }

  /** Checks that whole numbers keep their order as float64. */
  static void requireExact(String name, Tensor tensor) {
    if (tensor.scalar_type().intern() != torch.ScalarType.Long || tensor.numel() == 0) {
      return;
    }
    long most = tensor.max().item_long();
    long least = tensor.min().item_long();
    if (most > MAX_EXACT || least < -MAX_EXACT) {
      throw new IllegalArgumentException(
          "%s must have whole numbers of at most 2^53 in magnitude, got %d; subtract a constant"
              .formatted(name, most > MAX_EXACT ? most : least));
    }
  }

  static void requireSameShape(String name, Tensor tensor, String otherName, Tensor other) {
    if (!Arrays.equals(tensor.shape(), other.shape())) {
      throw new IllegalArgumentException(
          "%s and %s must have one shape, got %s and %s"
              .formatted(name, otherName, describe(tensor), describe(other)));
    }
  }

  static int requireAtLeastOne(String name, int value) {
    if (value < 1) {
      throw new IllegalArgumentException(name + " must be at least 1, got " + value);
    }
    return value;
  }

  static int requireRange(String name, int value, int least, int most) {
    if (value < least || value > most) {
      throw new IllegalArgumentException(
          "%s must be in [%d, %d], got %d".formatted(name, least, most, value));
    }
    return value;
  }

  /** Returns dtype and shape. */
  static String describe(Tensor tensor) {
    return tensor.scalar_type() + " " + Arrays.toString(tensor.shape());
  }
}
