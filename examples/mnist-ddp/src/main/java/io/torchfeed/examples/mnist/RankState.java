// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist;

import io.torchfeed.checkpoint.StateDict;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.pytorch.IValue;
import org.bytedeco.pytorch.InputArchive;
import org.bytedeco.pytorch.Tensor;

/** The part of a checkpoint that belongs to one rank, in libtorch's archive format. */
final class RankState {
  private static final String JSON = "json";
  private static final String NAMES = "names";

  private final byte[] optimizer;
  private final byte[] replica;

  /**
   * Creates a state; keeps references to the arrays.
   *
   * @param optimizer the optimizer
   * @param replica the model's wrapper; empty in checkpoints of format 1
   */
  RankState(byte[] optimizer, byte[] replica) {
    this.optimizer = optimizer;
    this.replica = replica;
  }

  byte[] optimizer() {
    return optimizer;
  }

  byte[] replica() {
    return replica;
  }

  /** Returns a state as an archive. */
  static byte[] write(StateDict state) {
    List<String> names = List.copyOf(state.tensors().keySet());
    return Archives.write(
        archive -> {
          archive.write(JSON, new IValue(state.json()));
          archive.write(NAMES, new IValue(String.join("\n", names)));
          for (int i = 0; i < names.size(); i++) {
            archive.write("tensor" + i, state.tensors().get(names.get(i)));
          }
        });
  }

  /** Returns the state of an archive; the caller closes it. */
  static StateDict read(byte[] archive) {
    StateDict[] state = new StateDict[1];
    Archives.read(
        archive,
        TrainingDevice.CPU,
        in -> {
          Map<String, Tensor> tensors = new LinkedHashMap<>();
          for (String name : text(in, NAMES).lines().toList()) {
            Tensor tensor = new Tensor();
            in.read("tensor" + tensors.size(), tensor);
            tensors.put(name, tensor);
          }
          state[0] = StateDict.of(text(in, JSON), tensors);
        });
    return state[0];
  }

  private static String text(InputArchive in, String key) {
    IValue text = new IValue();
    in.read(key, text);
    BytePointer characters = text.toStringRef();
    return characters == null ? "" : characters.getString(); // null is empty
  }
}
