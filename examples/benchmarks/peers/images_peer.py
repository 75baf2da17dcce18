# SPDX-License-Identifier: Apache-2.0
"""Python's contestants of `images`: one process each, with one thread.

Reads one task per line, `<contestant> <task> <file of paths> <folder>`, and answers with
`done <pictures> <nanoseconds of processor time> <nanoseconds>`. Each contestant turns the files
into float32 tensors [3, 224, 224], normalized as for ImageNet, in its best form. Those whose names
start with `resize:` perform the task `resize`: they scale a picture in memory, once for each path.
"""

import functools
import importlib.util
import io
import sys
import time

import numpy
import torch

SIZE = 224
SHORT_SIDE = 256
MEAN = [0.485, 0.456, 0.406]
STD = [0.229, 0.224, 0.225]


def random_crop_of(height, width):
    """torchvision's draw of a crop; every contestant but torchvision's own pipelines uses it."""
    from torchvision.transforms import RandomResizedCrop

    empty = torch.empty(3, height, width, dtype=torch.uint8, device="meta")
    return RandomResizedCrop.get_params(empty, (0.08, 1.0), (3 / 4, 4 / 3))


def pillow(task):
    """Pillow decodes and resizes, NumPy normalizes."""
    from PIL import Image

    mean = numpy.array(MEAN, numpy.float32)
    std = numpy.array(STD, numpy.float32)

    def run(data):
        image = Image.open(io.BytesIO(data)).convert("RGB")
        if task == "train":
            top, left, height, width = random_crop_of(image.height, image.width)
            box = (left, top, left + width, top + height)
            image = image.resize((SIZE, SIZE), Image.Resampling.BILINEAR, box=box)
            if torch.rand(1).item() < 0.5:
                image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
        else:
            scale = SHORT_SIDE / min(image.size)
            size = [max(SHORT_SIDE, int(side * scale)) for side in image.size]
            image = image.resize(size, Image.Resampling.BILINEAR)
            left, top = (size[0] - SIZE) // 2, (size[1] - SIZE) // 2
            image = image.crop((left, top, left + SIZE, top + SIZE))
        pixels = numpy.asarray(image, numpy.float32) / 255
        return ((pixels - mean) / std).transpose(2, 0, 1).copy()

    return run


def torchvision_pillow(task):
    """torchvision v2 on Pillow's images: what most training programs have."""
    from PIL import Image

    transform = torchvision_transform(task, from_pillow=True)
    return lambda data: transform(Image.open(io.BytesIO(data)).convert("RGB"))


def torchvision_tensors(task):
    """torchvision v2 on tensors, decoded by torchvision's own decoder."""
    from torchvision.io import ImageReadMode, decode_jpeg

    transform = torchvision_transform(task, from_pillow=False)

    def run(data):
        encoded = torch.frombuffer(bytearray(data), dtype=torch.uint8)
        return transform(decode_jpeg(encoded, mode=ImageReadMode.RGB))

    return run


def torchvision_transform(task, from_pillow):
    from torchvision.transforms import v2

    steps = [v2.PILToTensor()] if from_pillow else []
    if task == "train":
        resize = [v2.RandomResizedCrop(SIZE, antialias=True), v2.RandomHorizontalFlip()]
    else:
        resize = [v2.Resize(SHORT_SIDE, antialias=True), v2.CenterCrop(SIZE)]
    end = [v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD)]
    return v2.Compose(resize + steps + end)


def opencv(task):
    """OpenCV decodes, resizes by areas, which is its antialiased way, and NumPy normalizes."""
    import cv2

    cv2.setNumThreads(1)

    def decode(data):
        return cv2.imdecode(numpy.frombuffer(data, numpy.uint8), cv2.IMREAD_COLOR_RGB)

    return opencv_pipeline(cv2, decode, task)


def opencv_pipeline(cv2, decode, task):
    mean = numpy.array(MEAN, numpy.float32) * 255
    scale = 1 / (numpy.array(STD, numpy.float32) * 255)

    def run(data):
        image = decode(data)
        if task == "train":
            top, left, height, width = random_crop_of(*image.shape[:2])
            image = image[top : top + height, left : left + width]
            image = cv2.resize(image, (SIZE, SIZE), interpolation=cv2.INTER_AREA)
            if torch.rand(1).item() < 0.5:
                image = cv2.flip(image, 1)
        else:
            factor = SHORT_SIDE / min(image.shape[:2])
            size = [max(SHORT_SIDE, int(side * factor)) for side in image.shape[1::-1]]
            image = cv2.resize(image, size, interpolation=cv2.INTER_AREA)
            left, top = (size[0] - SIZE) // 2, (size[1] - SIZE) // 2
            image = image[top : top + SIZE, left : left + SIZE]
        return ((image.astype(numpy.float32) - mean) * scale).transpose(2, 0, 1).copy()

    return run


def ffcv_like(task):
    """FFCV's recipe: whole pictures with the fast inverse DCT and plain upsampling, then OpenCV.

    FFCV itself has only sources, and reads them from a file format of its own.
    """
    import cv2
    import simplejpeg

    cv2.setNumThreads(1)
    decode = functools.partial(simplejpeg.decode_jpeg, fastdct=True, fastupsample=True)
    return opencv_pipeline(cv2, decode, task)


def spdl(task):
    """SPDL: FFmpeg decodes, crops and scales in a chain of filters, and NumPy normalizes."""
    import spdl.io

    mean = numpy.array(MEAN, numpy.float32) * 255
    scale = 1 / (numpy.array(STD, numpy.float32) * 255)

    def run(data):
        packets = spdl.io.demux_image(data)
        if task == "train":
            top, left, height, width = random_crop_of(packets.height, packets.width)
            steps = [f"crop={width}:{height}:{left}:{top}", f"scale={SIZE}:{SIZE}:flags=bilinear"]
            if torch.rand(1).item() < 0.5:
                steps.append("hflip")
        else:
            factor = SHORT_SIDE / min(packets.width, packets.height)
            width, height = (
                max(SHORT_SIDE, int(side * factor)) for side in (packets.width, packets.height)
            )
            steps = [f"scale={width}:{height}:flags=bilinear", f"crop={SIZE}:{SIZE}"]
        frames = spdl.io.decode_packets(packets, ",".join([*steps, "format=rgb24"]))
        image = spdl.io.to_numpy(spdl.io.convert_frames(frames))
        return ((image.astype(numpy.float32) - mean) * scale).transpose(2, 0, 1).copy()

    return run


def dali(paths, task):
    """DALI on a CPU with one thread; only the part of a crop is decoded."""
    from nvidia.dali import fn, pipeline_def, types

    @pipeline_def(batch_size=32, num_threads=1, device_id=None, seed=0)
    def pipeline():
        encoded, _ = fn.readers.file(files=paths, random_shuffle=False)
        if task == "train":
            images = fn.decoders.image_random_crop(encoded, output_type=types.RGB)
            images = fn.resize(images, size=[SIZE, SIZE], antialias=True)
            mirror = fn.random.coin_flip()
        else:
            images = fn.decoders.image(encoded, output_type=types.RGB)
            images = fn.resize(images, resize_shorter=SHORT_SIDE, antialias=True)
            mirror = 0
        return fn.crop_mirror_normalize(
            images,
            crop=(SIZE, SIZE),
            mirror=mirror,
            mean=[255 * m for m in MEAN],
            std=[255 * s for s in STD],
            output_layout="CHW",
        )

    pipe = pipeline()
    pipe.build()
    batches = -(-len(paths) // 32)

    def run():
        for _ in range(batches):
            (images,) = pipe.run()
        return images.at(0), 32 * batches

    return run


def resize_noise(resize, times):
    """Scales random bytes with resize(NumPy array [256, 256, 3]), which returns what to repeat."""
    noise = numpy.random.default_rng(1).integers(0, 256, (SHORT_SIDE, SHORT_SIDE, 3), numpy.uint8)
    once = resize(noise)

    def run():
        for _ in range(times):
            result = once()
        pixels = numpy.asarray(result)
        return pixels if pixels.shape[0] == 3 else pixels.transpose(2, 0, 1), times

    return run


def resize_pillow(noise):
    from PIL import Image

    image = Image.fromarray(noise)
    return lambda: image.resize((SIZE, SIZE), Image.Resampling.BILINEAR)


def resize_torchvision(noise, channels_last=False):
    from torchvision.transforms.v2.functional import resize

    image = torch.from_numpy(noise).permute(2, 0, 1)
    if not channels_last:
        image = image.contiguous()
    return lambda: resize(image, [SIZE, SIZE], antialias=True)


def resize_opencv(noise):
    import cv2

    cv2.setNumThreads(1)
    return lambda: cv2.resize(noise, (SIZE, SIZE), interpolation=cv2.INTER_AREA)


# What scales one picture, and the packages that it needs.
RESIZES = {
    "resize:pillow": (resize_pillow, []),
    "resize:torchvision-planes": (resize_torchvision, []),
    "resize:torchvision-last": (functools.partial(resize_torchvision, channels_last=True), []),
    "resize:opencv-area": (resize_opencv, ["cv2"]),
}

# What turns one picture into a tensor, and the packages that it needs.
CONTESTANTS = {
    "pillow": (pillow, []),
    "torchvision-pillow": (torchvision_pillow, []),
    "torchvision-tensors": (torchvision_tensors, []),
    "opencv": (opencv, ["cv2"]),
    "ffcv-like": (ffcv_like, ["cv2", "simplejpeg"]),
    "spdl": (spdl, ["spdl.io"]),
    "dali": (dali, ["nvidia.dali"]),
}


def is_installed(module):
    try:
        if importlib.util.find_spec(module) is None:
            return False
        if module == "spdl.io":
            from spdl.io.utils import get_ffmpeg_versions

            get_ffmpeg_versions()
        return True
    except (ModuleNotFoundError, RuntimeError):  # of the package around it; without FFmpeg
        return False


def start(contestant, task, paths):
    """Returns a function that loads all pictures, and returns the last and their number."""
    if contestant in RESIZES:
        return resize_noise(RESIZES[contestant][0], len(paths))
    make, _ = CONTESTANTS[contestant]
    if make is dali:
        return dali(paths, task)
    one = make(task)

    def run():
        for path in paths:
            with open(path, "rb") as file:
                result = one(file.read())
        return result, len(paths)

    with open(paths[0], "rb") as file:
        one(file.read())
    return run


def main():
    torch.set_num_threads(1)
    present = [
        name
        for name, (_, needs) in [*CONTESTANTS.items(), *RESIZES.items()]
        if all(map(is_installed, needs))
    ]
    print("ready", *present, flush=True)
    started = {}  # a pipeline is built once, for all of its epochs
    for line in sys.stdin:
        contestant, task, listing, _ = line.split()
        with open(listing, encoding="utf-8") as lines:
            paths = lines.read().splitlines()
        if (contestant, task) not in started:
            started[contestant, task] = start(contestant, task, paths)
        run = started[contestant, task]
        torch.manual_seed(0)
        processor, begin = time.process_time_ns(), time.perf_counter_ns()
        result, count = run()
        took = time.process_time_ns() - processor, time.perf_counter_ns() - begin
        if tuple(result.shape) != (3, SIZE, SIZE):
            sys.exit(f"{contestant} made {tuple(result.shape)}")
        print("done", count, *took, flush=True)


if __name__ == "__main__":
    main()
