// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import io.torchfeed.memory.DType;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The names of dtypes and storages in the pickles of Python's torch. */
final class TorchDTypes {
  /** The storage of the dtypes that have no class of their own; it counts bytes. */
  static final String UNTYPED = "torch.storage.UntypedStorage";

  private static final Map<String, DType> STORAGES = new LinkedHashMap<>();

  static {
    STORAGES.put("torch.FloatStorage", DType.FLOAT32);
    STORAGES.put("torch.DoubleStorage", DType.FLOAT64);
    STORAGES.put("torch.HalfStorage", DType.FLOAT16);
    STORAGES.put("torch.BFloat16Storage", DType.BFLOAT16);
    STORAGES.put("torch.LongStorage", DType.INT64);
    STORAGES.put("torch.IntStorage", DType.INT32);
    STORAGES.put("torch.ShortStorage", DType.INT16);
    STORAGES.put("torch.CharStorage", DType.INT8);
    STORAGES.put("torch.ByteStorage", DType.UINT8);
    STORAGES.put("torch.BoolStorage", DType.BOOL);
    STORAGES.put("torch.ComplexFloatStorage", DType.COMPLEX64);
    STORAGES.put("torch.ComplexDoubleStorage", DType.COMPLEX128);
  }

  private TorchDTypes() {}

  /** Returns the dtype of a storage's elements, bytes if it is untyped; null if it is unknown. */
  static @Nullable DType ofStorage(String name) {
    return name.equals(UNTYPED) ? DType.UINT8 : STORAGES.get(name);
  }

  /** Returns the name of the storage with elements of a dtype; null if there is none. */
  static @Nullable String storageOf(DType dtype) {
    for (Map.Entry<String, DType> entry : STORAGES.entrySet()) {
      if (entry.getValue() == dtype) {
        return entry.getKey();
      }
    }
    return null;
  }

  /** Returns the dtype with a name such as {@code torch.float32}; null if it is unknown. */
  static @Nullable DType ofGlobal(String name) {
    for (DType dtype : DType.values()) {
      if (name.equals(globalOf(dtype))) {
        return dtype;
      }
    }
    return null;
  }

  /** Returns the name of a dtype. */
  static String globalOf(DType dtype) {
    return "torch." + dtype.name().toLowerCase(Locale.ROOT);
  }
}
