// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.bindings;

import org.bytedeco.javacpp.annotation.Platform;
import org.bytedeco.javacpp.annotation.Properties;
import org.bytedeco.javacpp.tools.Info;
import org.bytedeco.javacpp.tools.InfoMap;
import org.bytedeco.javacpp.tools.InfoMapper;

/**
 * The JavaCPP preset: the facade headers to bind, the Java classes that represent tensors, and
 * other names for bindings that would collide with public classes.
 */
@Properties(
    value =
        @Platform(
            include = {
              "torchfeed/runtime.h",
              "torchfeed/index_cursor.h",
              "torchfeed/file_columns.h",
              "torchfeed/image_files.h",
              "torchfeed/image_records.h",
              "torchfeed/row_plan.h",
              "torchfeed/row_set.h",
              "torchfeed/batch_feed.h",
              "torchfeed/device_transfer.h",
              "torchfeed/device_feed.h",
              "torchfeed/device_lane.h",
              "torchfeed/compiled_model.h",
              "torchfeed/log_filter.h",
              "torchfeed/loopback.h",
              "torchfeed/loss_scale.h",
              "torchfeed/optimizer_state.h",
              "torchfeed/work.h",
              "torchfeed/process_group.h",
              "torchfeed/exchange_options.h",
              "torchfeed/min_max_code.h",
              "torchfeed/gradients.h",
              "torchfeed/reducer_state.h",
              "torchfeed/reducer.h",
              "torchfeed/slab.h",
              "torchfeed/image_plan.h",
              "torchfeed/image_rows.h",
              "torchfeed/image_cuts.h",
              "torchfeed/batch_mixes.h",
              "torchfeed/row_reader.h",
            },
            link = "torchfeed",
            // the image decoders, which torchfeed needs: in the jar of the Leptonica presets
            preload = "leptonica@.6",
            preloadresource = "/org/bytedeco/leptonica/"),
    target = "io.torchfeed.bindings",
    global = "io.torchfeed.bindings.torchfeed")
public class TorchfeedPreset implements InfoMapper {
  static {
    // Load libtorch first, whichever of our classes is used first; no effect during generation.
    Libtorch.load();
  }

  private static final String[] NAMES_OF_THE_API = {
    "CompiledModel", "DeviceTransfer", "ImageFiles", "ImageRecords", "ProcessGroup", "Slab", "Work",
  };

  @Override
  public void map(InfoMap map) {
    map.put(new Info("TORCHFEED_API").cppTypes().annotations());
    map.put(new Info("at::Tensor", "torch::Tensor").pointerTypes("org.bytedeco.pytorch.Tensor"));
    map.put(
        new Info("std::vector<at::Tensor>", "std::vector<torch::Tensor>")
            .pointerTypes("org.bytedeco.pytorch.TensorVector"));
    map.put(new Info("torch::optim::Optimizer").pointerTypes("org.bytedeco.pytorch.Optimizer"));
    for (String name : NAMES_OF_THE_API) {
      map.put(new Info("torchfeed::" + name).pointerTypes("Native" + name));
    }
  }
}
