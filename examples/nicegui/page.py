"""A page of NiceGUI with something that changes.

    pip install nicegui
    uvicorn page:app --port 8080         and a browser at http://localhost:8080

watch.sh beside it shows in a shell what the browser shows.
"""

from fastapi import FastAPI
from nicegui import ui

app = FastAPI()
ordered = 0


@app.post("/order/{count}")
def order(count: int):
    """curl -X POST http://localhost:8080/order/3"""
    global ordered
    ordered += count


@ui.page("/")
def page():
    ui.label("Orders of today")
    ui.label().bind_text_from(globals(), "ordered", lambda count: f"{count} coffees")


ui.run_with(app)
