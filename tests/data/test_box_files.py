"""Files of boxes, written by hand as their formats say."""

import json

import pytest

from margin.data.box_files import coco_results, read_coco, read_voc
from margin.data.boxes import Boxes

VOC = """<annotation><size><width>10</width><height>8</height><depth>3</depth></size>
<object><name>cell</name><bndbox><xmin>1</xmin><ymin>2</ymin><xmax>4</xmax><ymax>5</ymax></bndbox></object>
<object><name>dust</name><difficult>1</difficult>
<bndbox><xmin>3</xmin><ymin>3</ymin><xmax>3</xmax><ymax>3</ymax></bndbox></object></annotation>"""


def test_voc(tmp_path):
    path = tmp_path / "a.xml"
    path.write_text(VOC)
    boxes = read_voc(path)
    assert boxes.xyxy.tolist() == [[0, 1, 4, 5]]
    assert boxes.labels.tolist() == ["cell"]
    assert read_voc(path, difficult=True).xyxy[1].tolist() == [2, 2, 3, 3]
    path.write_text("<annotation>")
    with pytest.raises(ValueError, match="is no XML"):
        read_voc(path)
    path.write_text("<annotation><object><name>x</name></object></annotation>")
    with pytest.raises(ValueError, match="corners of a box"):
        read_voc(path)
    path.write_text('<!DOCTYPE a [<!ENTITY b "c">]><annotation/>')
    with pytest.raises(ValueError, match="entities"):
        read_voc(path)


def test_coco(tmp_path):
    path = tmp_path / "a.json"
    known = {
        "images": [{"id": 1, "file_name": "a.png"}, {"id": 2, "file_name": "b.png"}],
        "categories": [{"id": 5, "name": "cell"}],
        "annotations": [
            {"image_id": 1, "category_id": 5, "bbox": [1, 2, 3, 4]},
            {"image_id": 1, "category_id": 5, "bbox": [0, 0, 9, 9], "iscrowd": 1},
        ],
    }
    path.write_text(json.dumps(known))
    found = read_coco(path)
    assert found["a.png"].xyxy.tolist() == [[1, 2, 4, 6]]
    assert len(found["b.png"]) == 0
    scored = Boxes(found["a.png"].xyxy, found["a.png"].labels, [0.5])
    again = coco_results([scored, found["b.png"]], [1, 2], {"cell": 5})
    assert again == [{"image_id": 1, "category_id": 5, "bbox": [1, 2, 3, 4], "score": 0.5}]
    path.write_text("{}")
    with pytest.raises(ValueError, match="annotations, categories, images"):
        read_coco(path)
    with pytest.raises(ValueError, match="one per image"):
        coco_results([scored], [1, 2], {})
